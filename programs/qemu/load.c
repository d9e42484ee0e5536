// A library that is loaded while the program runs, called, and unloaded, several times.
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        if (!library) return 2;
        double (*cosine)(double) = (double (*)(double))dlsym(library, "cos");
        double (*root)(double) = (double (*)(double))dlsym(library, "sqrt");
        if (!cosine || !root) return 3;
        for (int j = 0; j < 50; j++) sum += cosine(j * 0.25) * root(j + i);
        dlclose(library);
    }
    printf("load: %.6f\n", sum);
    return 0;
}
