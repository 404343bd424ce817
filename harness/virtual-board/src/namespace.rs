//! Entering a network of one's own. The namespace has no name and dies with its last process, so nothing can be
//! left behind, and the interfaces of the machine are out of reach from inside.

use std::fs;
use std::io;
use std::process::Command;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};

use crate::Error;
use crate::tether::require;

/// Which kind of namespaces was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// A network namespace alone.
    Network,
    /// A user namespace and a network namespace in it.
    UserAndNetwork,
}

/// Moves this process into a new network namespace, and into a new user namespace when it may not make the
/// first without. In the user namespace the user is root.
///
/// # Errors
/// [`Error::Threads`] when other threads exist; they would stay outside. [`Error::Namespace`] when the kernel
/// refuses, with what to change.
pub fn enter() -> Result<Entered, Error> {
    let threads = thread_count().map_err(Error::io("read /proc/self/status"))?;
    if threads != 1 {
        return Err(Error::Threads { threads });
    }
    match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => Ok(Entered::Network),
        Err(Errno::EPERM) => enter_as_user(),
        Err(errno) => Err(refused("make a network namespace", errno.into(), &Limits::read())),
    }
}

/// Whether [`enter`] will be let in: a child process tries it.
///
/// # Errors
/// [`Error::Namespace`], with what to change; [`Error::ProgramMissing`].
pub fn check() -> Result<(), Error> {
    require_unshare()?;
    let limits = Limits::read();
    let step = "make a user and network namespace";
    let mut told = String::new();
    for kind in [&["--net"][..], &["--user", "--map-root-user", "--net"]] {
        let tried = Command::new("unshare").args(kind).args(["--", "true"]).output();
        let tried = tried.map_err(Error::io("run unshare"))?;
        if tried.status.success() {
            return Ok(());
        }
        told = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
    }
    Err(refused(step, io::Error::other(told), &limits))
}

/// Whether there is the program that makes namespaces for others.
pub(crate) fn require_unshare() -> Result<(), Error> {
    require("unshare", "install util-linux")
}

fn enter_as_user() -> Result<Entered, Error> {
    let (uid, gid) = (Uid::current(), Gid::current());
    // Inside, the limits of the new namespace would be read.
    let limits = Limits::read();
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|errno| refused("make a user and network namespace", errno.into(), &limits))?;
    // A user may map a group only after giving up setgroups (user_namespaces(7)).
    for (file, content) in [
        ("/proc/self/uid_map", format!("0 {uid} 1")),
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/gid_map", format!("0 {gid} 1")),
    ] {
        fs::write(file, content)
            .map_err(|source| refused("become root in the user namespace", source, &limits))?;
    }
    Ok(Entered::UserAndNetwork)
}

fn thread_count() -> io::Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let count = status
        .lines()
        .find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok());
    count.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no Threads line"))
}

/// The kernel's switches that can forbid a user namespace; none where the kernel has no such switch.
#[derive(Debug, Default)]
struct Limits {
    unprivileged_userns_clone: Option<u64>,
    max_user_namespaces: Option<u64>,
    max_net_namespaces: Option<u64>,
    apparmor_restrict: Option<u64>,
}

impl Limits {
    fn read() -> Self {
        let read = |name: &str| {
            fs::read_to_string(format!("/proc/sys/{name}"))
                .ok()?
                .trim()
                .parse()
                .ok()
        };
        Limits {
            unprivileged_userns_clone: read("kernel/unprivileged_userns_clone"),
            max_user_namespaces: read("user/max_user_namespaces"),
            max_net_namespaces: read("user/max_net_namespaces"),
            apparmor_restrict: read("kernel/apparmor_restrict_unprivileged_userns"),
        }
    }

    /// What to change, given that the kernel refused.
    fn advice(&self) -> &'static str {
        if self.max_user_namespaces == Some(0) {
            "set sysctl user.max_user_namespaces above 0 (it is 0), or run as root"
        } else if self.max_net_namespaces == Some(0) {
            "set sysctl user.max_net_namespaces above 0 (it is 0)"
        } else if self.unprivileged_userns_clone == Some(0) {
            "set sysctl kernel.unprivileged_userns_clone=1 (it is 0), or run as root"
        } else if self.apparmor_restrict.is_some_and(|value| value != 0) {
            "AppArmor keeps users from making namespaces: set sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0, give this program an AppArmor profile with \
             `userns,`, or run as root"
        } else {
            "run as root; in a container, start it with --cap-add SYS_ADMIN --cap-add NET_ADMIN \
             --device /dev/net/tun --security-opt seccomp=unconfined, or --privileged"
        }
    }
}

fn refused(step: &'static str, source: io::Error, limits: &Limits) -> Error {
    Error::Namespace {
        step,
        source,
        advice: limits.advice().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_thread_is_refused_before_anything_is_changed() {
        // The test harness runs this in a thread beside its own.
        assert!(matches!(enter(), Err(Error::Threads { threads: 2.. })));
    }

    #[test]
    fn advice_names_the_switch_that_forbids() {
        let open = || Limits {
            unprivileged_userns_clone: Some(1),
            max_user_namespaces: Some(1000),
            max_net_namespaces: Some(1000),
            apparmor_restrict: Some(0),
        };
        let advice = |limits: Limits| refused("x", Errno::EPERM.into(), &limits).to_string();
        for (limits, named) in [
            (
                Limits {
                    unprivileged_userns_clone: Some(0),
                    ..open()
                },
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                Limits {
                    max_user_namespaces: Some(0),
                    ..open()
                },
                "user.max_user_namespaces above 0",
            ),
            (
                Limits {
                    max_net_namespaces: Some(0),
                    ..open()
                },
                "user.max_net_namespaces above 0",
            ),
            (
                Limits {
                    apparmor_restrict: Some(1),
                    ..open()
                },
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            (open(), "--cap-add SYS_ADMIN"),
            (Limits::default(), "run as root"),
        ] {
            let text = advice(limits);
            assert!(text.contains(named), "{text}");
        }
    }
}
