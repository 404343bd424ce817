//! What belongs together among requests: those of a stdio stream, of a legacy session, or all others.

use crate::json::Json;
use crate::unique;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};

/// Severities of log messages (RFC 5424, 6.2.1), the least first.
pub(crate) const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];
/// Sessions that are kept; the oldest ends when there are more.
const MAX_SESSIONS: usize = 64;

/// One conversation.
#[derive(Debug)]
pub(crate) struct Scope {
    /// Id of the session; none where there is no session.
    pub(crate) session: Option<String>,
    /// Index in [`LEVELS`] of the least log message that a legacy client wants.
    level: AtomicUsize,
    /// What ends a request that is being answered, by its id as JSON. None where ids of several clients would mix.
    running: Option<Mutex<HashMap<String, Arc<Notify>>>>,
    /// What the client declared when it began; none where there is no beginning.
    capabilities: Mutex<Option<Json>>,
    /// Who waits for an answer of the client's, by the id of the server's request.
    asked: Mutex<HashMap<String, oneshot::Sender<Answer>>>,
}

/// What a client answers: a result, or an error object.
type Answer = Result<Json, Json>;

impl Scope {
    fn new(session: Option<String>, cancels: bool) -> Self {
        Self {
            session,
            level: AtomicUsize::new(1),
            running: cancels.then(Mutex::default),
            capabilities: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// That of a stdio stream.
    pub(crate) fn stream() -> Self {
        Self::new(None, true)
    }

    /// That of all who have no other.
    pub(crate) fn common() -> Self {
        Self::new(None, false)
    }

    pub(crate) fn level(&self) -> usize {
        self.level.load(Ordering::Relaxed)
    }

    pub(crate) fn set_level(&self, level: usize) {
        self.level.store(level, Ordering::Relaxed);
    }

    /// Keeps what the client declares.
    pub(crate) fn begins(&self, capabilities: Option<&Json>) {
        *lock(&self.capabilities) = capabilities.cloned();
    }

    /// Whether the client declared a capability.
    pub(crate) fn declares(&self, name: &str) -> bool {
        let capabilities = lock(&self.capabilities);
        capabilities
            .as_ref()
            .is_some_and(|declared| declared.get(name).is_some())
    }

    /// Makes the id of a request to the client. Its answer is waited for as long as what is returned lives.
    pub(crate) fn asks(&self) -> Asked<'_> {
        let (sender, answer) = oneshot::channel();
        let id = unique::id();
        lock(&self.asked).insert(id.clone(), sender);
        Asked {
            scope: self,
            id,
            answer,
        }
    }

    /// Hands an answer to who waits for it. One that nobody waits for is lost.
    pub(crate) fn answered(&self, id: &str, answer: Answer) {
        if let Some(asker) = lock(&self.asked).remove(id) {
            asker.send(answer).ok();
        }
    }

    /// Says that a request is being answered, for as long as what is returned lives.
    pub(crate) fn begin(&self, id: String) -> Running<'_> {
        let cancelled = Arc::new(Notify::new());
        if let Some(running) = &self.running {
            lock(running).insert(id.clone(), Arc::clone(&cancelled));
        }
        Running {
            scope: self,
            id,
            cancelled,
        }
    }

    /// Cancels the request with this id, if it is being answered.
    pub(crate) fn cancel(&self, id: &str) {
        if let Some(cancelled) = self.running.as_ref().and_then(|running| lock(running).remove(id)) {
            cancelled.notify_one();
        }
    }
}

/// A request to the client.
pub(crate) struct Asked<'s> {
    scope: &'s Scope,
    pub(crate) id: String,
    answer: oneshot::Receiver<Answer>,
}

impl Asked<'_> {
    /// The answer; none comes when the scope ends.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        lock(&self.scope.asked).remove(&self.id);
    }
}

/// A request that is being answered.
pub(crate) struct Running<'s> {
    scope: &'s Scope,
    id: String,
    cancelled: Arc<Notify>,
}

impl Running<'_> {
    pub(crate) async fn cancelled(&self) {
        self.cancelled.notified().await;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(running) = &self.scope.running {
            let mut running = lock(running);
            if running
                .get(&self.id)
                .is_some_and(|own| Arc::ptr_eq(own, &self.cancelled))
            {
                running.remove(&self.id);
            }
        }
    }
}

/// The legacy sessions over HTTP, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Vec<Arc<Scope>>>);

impl Sessions {
    /// Begins one with a client of these capabilities, and gives its id.
    pub(crate) fn begin(&self, capabilities: Option<&Json>) -> String {
        let id = unique::id();
        let scope = Scope::new(Some(id.clone()), true);
        scope.begins(capabilities);
        let mut sessions = lock(&self.0);
        if sessions.len() == MAX_SESSIONS {
            sessions.remove(0);
        }
        sessions.push(Arc::new(scope));
        id
    }

    pub(crate) fn get(&self, id: &[u8]) -> Option<Arc<Scope>> {
        let sessions = lock(&self.0);
        let is = |scope: &&Arc<Scope>| scope.session.as_ref().is_some_and(|known| known.as_bytes() == id);
        sessions.iter().find(is).cloned()
    }

    pub(crate) fn end(&self, scope: &Arc<Scope>) {
        lock(&self.0).retain(|known| !Arc::ptr_eq(known, scope));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
