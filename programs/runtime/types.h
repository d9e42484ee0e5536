// Our own names for the basic types: a system header would put its path into the debug information.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned long word; // As wide as a register.
typedef __SIZE_TYPE__ size;

#define NULL ((void *)0)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
