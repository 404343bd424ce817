//! A few large buffers shared by all connections, lent one at a time and in the order asked for.

use core::ops::{Deref, DerefMut};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::{Mutex, MutexGuard};
use embassy_sync::semaphore::{FairSemaphore, Semaphore, SemaphoreReleaser};

/// `K` buffers of `SIZE` bytes for at most `WAITERS` that wait.
pub(super) struct Pool<'b, const K: usize, const SIZE: usize, const WAITERS: usize> {
    permits: FairSemaphore<NoopRawMutex, WAITERS>,
    buffers: [Mutex<NoopRawMutex, &'b mut [u8; SIZE]>; K],
}

/// A lent buffer; it goes back when dropped.
pub(super) struct Lease<'p, 'b, const SIZE: usize, const WAITERS: usize> {
    // Before the permit, so that the next holder of the permit finds the buffer free.
    buffer: MutexGuard<'p, NoopRawMutex, &'b mut [u8; SIZE]>,
    _permit: SemaphoreReleaser<'p, FairSemaphore<NoopRawMutex, WAITERS>>,
}

impl<'b, const K: usize, const SIZE: usize, const WAITERS: usize> Pool<'b, K, SIZE, WAITERS> {
    pub fn new(buffers: &'b mut [[u8; SIZE]; K]) -> Self {
        Self {
            permits: FairSemaphore::new(K),
            buffers: buffers.each_mut().map(Mutex::new),
        }
    }

    /// A buffer that is free now.
    pub fn try_lend(&self) -> Option<Lease<'_, 'b, SIZE, WAITERS>> {
        self.with(self.permits.try_acquire(1)?)
    }

    /// The next buffer that becomes free; none if that takes longer than `wait`.
    pub async fn lend(&self, wait: embassy_time::Duration) -> Option<Lease<'_, 'b, SIZE, WAITERS>> {
        let permit = embassy_time::with_timeout(wait, self.permits.acquire(1))
            .await
            .ok()?
            .ok()?;
        self.with(permit)
    }

    fn with<'p>(
        &'p self,
        permit: SemaphoreReleaser<'p, FairSemaphore<NoopRawMutex, WAITERS>>,
    ) -> Option<Lease<'p, 'b, SIZE, WAITERS>> {
        let buffer = self.buffers.iter().find_map(|buffer| buffer.try_lock().ok())?;
        Some(Lease {
            buffer,
            _permit: permit,
        })
    }
}

impl<const SIZE: usize, const WAITERS: usize> Deref for Lease<'_, '_, SIZE, WAITERS> {
    type Target = [u8; SIZE];

    fn deref(&self) -> &Self::Target {
        &self.buffer
    }
}

impl<const SIZE: usize, const WAITERS: usize> DerefMut for Lease<'_, '_, SIZE, WAITERS> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.buffer
    }
}
