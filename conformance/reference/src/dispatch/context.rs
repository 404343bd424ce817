//! What a request is answered with besides its parameters.

use super::Era;
use super::tasks::{Form, undeclared};
use crate::Server;
use crate::features::Feature;
use crate::json::Json;
use crate::jsonrpc::{Error, Kind, RequestId};
use crate::outlet::Outlet;
use crate::scope::{LEVELS, Scope};
use crate::tasks::ttl;
use crate::tools::Reporter;
use std::time::Duration;
use tokio::time::sleep;

/// How long a client may take to answer, which may have to ask its user.
const ASK_LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Context<'a> {
    pub(crate) server: &'a Server,
    pub(crate) era: Era,
    pub(super) scope: &'a Scope,
    pub(super) outlet: &'a Outlet,
    pub(super) id: &'a RequestId,
}

impl Context<'_> {
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.server.options.features.has(feature)
    }

    /// Whether a legacy client declared a capability at its beginning.
    pub(crate) fn client_has(&self, capability: &str) -> bool {
        self.scope.declares(capability)
    }

    /// Asks a legacy client something while it waits for this answer.
    ///
    /// # Errors
    /// Why there is no answer, or the error that it is.
    pub(crate) async fn ask(&self, method: &str, params: Json) -> Result<Json, String> {
        if !self.outlet.is_open() {
            return Err("the client does not take an event stream, so it can't be asked".to_owned());
        }
        let mut asked = self.scope.asks();
        self.outlet.request(&asked.id, method, params);
        let mut closing = self.server.closing.subscribe();
        let answer = tokio::select! {
            answer = asked.answer() => answer,
            _ = closing.wait_for(|closing| *closing) => None,
            () = sleep(ASK_LIMIT) => None,
        };
        match answer {
            Some(Ok(result)) => Ok(result),
            Some(Err(error)) => Err(format!("the client answered {method} with {error}")),
            None => Err(format!("the client did not answer {method}")),
        }
    }

    /// The capabilities that a modern request declares.
    pub(crate) fn capabilities<'p>(&self, params: &'p Json) -> Option<&'p Json> {
        params.get("_meta")?.get(super::META_CAPABILITIES)
    }

    /// Whether a modern request declares the tasks extension.
    pub(super) fn knows_tasks(&self, params: &Json) -> bool {
        let capabilities = self.capabilities(params);
        let extension =
            capabilities.and_then(|capabilities| capabilities.get("extensions")?.get(super::TASKS));
        extension.and_then(Json::as_object).is_some()
    }

    /// Whether a call is to be a task, and which one. `only_as_task` is none for a tool that can't be one.
    pub(crate) fn as_task(&self, params: &Json, only_as_task: Option<bool>) -> Result<Option<Form>, Error> {
        if !self.has(Feature::Tasks) {
            return Ok(None);
        }
        match (self.era, params.get("task"), only_as_task) {
            (Era::Legacy, None, Some(true)) => Err(Error::new(
                Kind::MethodNotFound,
                "this tool can only be called as a task",
            )),
            (Era::Legacy, None, _) => Ok(None),
            (Era::Legacy, Some(_), None) => Err(Error::new(
                Kind::MethodNotFound,
                "this tool can't be called as a task",
            )),
            (Era::Legacy, Some(task @ Json::Object(_)), Some(_)) => Ok(Some(Form::Legacy(ttl(task)?))),
            (Era::Legacy, Some(_), Some(_)) => {
                Err(Error::new(Kind::InvalidParams, "params.task must be an object"))
            }
            (Era::Modern, _, None) => Ok(None),
            (Era::Modern, _, Some(_)) if self.knows_tasks(params) => Ok(Some(Form::Modern)),
            (Era::Modern, _, Some(true)) => Err(undeclared()),
            (Era::Modern, _, Some(false)) => Ok(None),
        }
    }

    /// What a slow call tells while it goes on.
    pub(crate) fn reporter(&self, params: &Json) -> Result<Reporter, Error> {
        let token = params
            .get("_meta")
            .and_then(|meta| meta.get("progressToken"))
            .cloned();
        if token
            .as_ref()
            .is_some_and(|token| token.as_str().is_none() && token.as_integer().is_none())
        {
            return Err(Error::new(
                Kind::InvalidParams,
                "params._meta.progressToken must be a string or an integer",
            ));
        }
        let level = match self.era {
            Era::Legacy => Some(self.scope.level()),
            Era::Modern => log_level(params)?,
        };
        Ok(Reporter {
            outlet: self.outlet.clone(),
            token: token.filter(|_| self.has(Feature::Progress)),
            level: level.filter(|_| self.has(Feature::Logging)),
        })
    }
}

/// Index of the level that a modern request wants to hear of, if it wants any (2026-07-28, server/utilities/logging).
pub(super) fn log_level(params: &Json) -> Result<Option<usize>, Error> {
    match params
        .get("_meta")
        .and_then(|meta| meta.get(super::META_LOG_LEVEL))
    {
        None => Ok(None),
        Some(level) => read_level(level).map(Some),
    }
}

pub(super) fn read_level(level: &Json) -> Result<usize, Error> {
    let index = level
        .as_str()
        .and_then(|level| LEVELS.iter().position(|known| *known == level));
    index.ok_or_else(|| {
        let message = format!("the level must be one of {}", LEVELS.join(", "));
        Error::new(Kind::InvalidParams, message)
    })
}
