//! Failures of system calls.

use std::io;

use super::threads::Wait;
use crate::Stop;
use crate::memory::Fault;

/// Error number of a call, which the program gets negated in a0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

pub type Answer = Result<u64, Failure>;

/// Reason why a call has no result.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// The call failed with an error for the program.
    Errno(Errno),
    /// The program ended.
    Stop(Stop),
    /// Registers are already set, as by rt_sigreturn.
    Resumed,
    /// The thread waits, and another one runs.
    Wait(Wait),
    /// The call is to be repeated after other threads ran.
    Again,
}

macro_rules! errors {
    ($($name:ident = $number:literal,)*) => {
        impl Errno {
            $(pub const $name: Self = Self($number);)*
        }
    };
}

errors! {
    ENOENT = 2, ESRCH = 3, EINTR = 4, EIO = 5, EBADF = 9, ECHILD = 10, EAGAIN = 11, ENOMEM = 12,
    EACCES = 13, EFAULT = 14, EEXIST = 17, EXDEV = 18, ENODEV = 19, ENOTDIR = 20, EISDIR = 21, EINVAL = 22,
    EMFILE = 24, ENOTTY = 25, EFBIG = 27, ENOSPC = 28, ESPIPE = 29, EROFS = 30, EPIPE = 32, ERANGE = 34,
    ENAMETOOLONG = 36, ENOSYS = 38, ENOTEMPTY = 39, ELOOP = 40, EOPNOTSUPP = 95, EAFNOSUPPORT = 97, ETIMEDOUT = 110,
}

impl Errno {
    /// Returns this error if `is_so` is set.
    pub fn when(self, is_so: bool) -> Result<(), Self> {
        if is_so { Err(self) } else { Ok(()) }
    }
}

impl<E: Into<Errno>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Errno(error.into())
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Fault> for Errno {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Access(_) => Self::EFAULT,
            Fault::Full => Self::ENOMEM,
        }
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(errno: rustix::io::Errno) -> Self {
        io::Error::from(errno).into()
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        // The host is Linux too, which uses the same numbers on RISC-V.
        if let Some(number) = error.raw_os_error() {
            return Self(number);
        }
        match error.kind() {
            io::ErrorKind::NotFound => Self::ENOENT,
            io::ErrorKind::PermissionDenied => Self::EACCES,
            io::ErrorKind::AlreadyExists => Self::EEXIST,
            io::ErrorKind::NotADirectory => Self::ENOTDIR,
            io::ErrorKind::IsADirectory => Self::EISDIR,
            io::ErrorKind::DirectoryNotEmpty => Self::ENOTEMPTY,
            io::ErrorKind::InvalidInput => Self::EINVAL,
            io::ErrorKind::BrokenPipe => Self::EPIPE,
            io::ErrorKind::StorageFull => Self::ENOSPC,
            io::ErrorKind::Interrupted => Self::EINTR,
            _ => Self::EIO,
        }
    }
}
