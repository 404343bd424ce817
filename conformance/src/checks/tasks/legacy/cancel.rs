//! Tasks that are cancelled.

use super::{declares, get, started, tools};
use crate::check::{Check, LEGACY, check};
use crate::checks::tasks::{POLL, is_terminal, status};
use crate::expect::{self, INVALID_PARAMS};
use crate::lab::{Lab, Stop};
use serde_json::json;
use tokio::time::sleep;

pub const CHECKS: &[Check] = &[check!(
    "tasks/cancel",
    LEGACY,
    cancel,
    [
        "2025-11-25/tasks/cancel",
        "2025-11-25/tasks/cancel-sticks",
        "2025-11-25/tasks/cancel-terminal"
    ]
)];

async fn cancel(lab: &mut Lab) -> Result<(), Stop> {
    let tools = tools(lab)?;
    if !declares(lab, "/tasks/cancel") {
        return Err(Stop::Skip(
            "the server does not declare the capability \"tasks.cancel\"".to_owned(),
        ));
    }
    for tool in tools.into_iter().take(3) {
        let (task, _) = started(lab, "2025-11-25/tasks/cancel", &tool).await?;
        let params = json!({"taskId": task["taskId"]});
        let exchange = lab.ask("tasks/cancel", params.clone()).await?;
        // a quick tool may have ended before
        let too_late = expect::error(&exchange, &[INVALID_PARAMS]).is_ok();
        if !too_late {
            let cancelled = expect::result(&exchange).and_then(|now| match status(now) {
                "cancelled" => Ok(()),
                other => Err(format!("a cancelled task is {other:?}")),
            });
            lab.note("2025-11-25/tasks/cancel", cancelled, &exchange);
            for _ in 0..3 {
                sleep(POLL).await;
                let looked = get(lab, &task).await?;
                if let Ok(now) = expect::result(&looked)
                    && status(now) != "cancelled"
                {
                    lab.found(
                        "2025-11-25/tasks/cancel-sticks",
                        format!("a cancelled task is {}", now["status"]),
                        &[&exchange, &looked],
                    );
                    break;
                }
            }
        }
        let again = lab.ask("tasks/cancel", params).await?;
        let looked = get(lab, &task).await?;
        if expect::result(&looked).is_ok_and(is_terminal) {
            lab.note(
                "2025-11-25/tasks/cancel-terminal",
                expect::error(&again, &[INVALID_PARAMS]),
                &again,
            );
        }
        if !too_late {
            break;
        }
    }
    Ok(())
}
