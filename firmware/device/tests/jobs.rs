//! Background jobs, as a client sees them while time passes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
#[path = "support/bench.rs"]
mod bench;
mod support;

use std::pin::pin;

use bench::Bench;
use embassy_futures::poll_once;
use mcp_device::{MAX_JOBS, Millis};
use serde_json::{Value, json};
use support::{ERAS, Legacy};

#[test]
fn a_job_runs_to_its_end() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let order = json!({"program": "count", "args": {"steps": 3, "step_ms": 50}, "name": "three", "timeout_ms": 9000});
        bench
            .call("job_start", order)
            .is(200, era.structured(r#"{"job_id":"00000004","status":"running"}"#));
        let told = |rest: &str| {
            era.structured(format!(
                r#"{{"job_id":"00000004","program":"count","name":"three","exclusive":"",{rest}}}"#
            ))
        };
        let get = |bench: &Bench| bench.call("job_get", json!({"job_id": "00000004"}));
        get(&bench).is(
            200,
            told(
                r#""status":"running","stopping":false,"runtime_ms":0,"timeout_ms":9000,"summary":"","log_lines":0,"log_truncated":false,"recent_log":"""#,
            ),
        );
        bench.pass(149);
        get(&bench).is(
            200,
            told(
                r#""status":"running","stopping":false,"runtime_ms":149,"timeout_ms":9000,"summary":"","log_lines":2,"log_truncated":false,"recent_log":"1\n2\n""#,
            ),
        );
        bench.pass(1);
        let done = told(
            r#""status":"done","stopping":false,"runtime_ms":150,"timeout_ms":9000,"summary":"steps done: 3","log_lines":3,"log_truncated":false,"recent_log":"1\n2\n3\n""#,
        );
        get(&bench).is(200, done.clone());

        // What has ended stays as it is, whatever happens to it.
        bench.pass(100_000);
        let stopped = r#"{"job_id":"00000004","status":"done","outcome":"already_ended"}"#;
        bench
            .call("job_stop", json!({"job_id": "00000004"}))
            .is(200, era.structured(stopped));
        bench
            .call("job_stop_all", json!({}))
            .is(200, era.structured(r#"{"stopped":0,"stopping":0}"#));
        get(&bench).is(200, done);
        assert_eq!(
            bench.device.poll(Millis(bench.now)),
            None,
            "nothing is left to do"
        );
    }
}

#[test]
fn arguments_have_the_defaults_of_the_contract() {
    let mut bench = Bench::new(Legacy);
    let (id, _) = bench.start(json!({"program": "count"}));
    assert_eq!(bench.get(&id)["timeout_ms"], json!(60_000));
    bench.pass(999);
    assert_eq!(bench.get(&id)["log_lines"], json!(9), "a step takes 100 ms");
    bench.pass(1);
    assert_eq!(bench.get(&id)["summary"], json!("steps done: 10"));
    let properties = &support::contract()["tools"][9]["inputSchema"]["properties"];
    assert_eq!(properties["args"]["properties"]["steps"]["default"], json!(10));
    assert_eq!(properties["args"]["properties"]["step_ms"]["default"], json!(100));
    assert_eq!(properties["timeout_ms"]["default"], json!(60_000));
    for stop in [12, 13] {
        let tool = &support::contract()["tools"][stop];
        assert_eq!(
            tool["inputSchema"]["properties"]["wait_ms"]["default"],
            json!(2000)
        );
        assert!(tool["description"].as_str().unwrap().contains("MUST"));
    }
}

#[test]
fn a_job_fails_with_its_reason() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let (told, _) =
            bench.start(json!({"program": "fail", "args": {"step_ms": 10, "reason": "no \"paper\" 🦀"}}));
        let (silent, _) = bench.start(json!({"program": "fail", "args": {"reason": ""}}));
        bench.pass(100);
        let told = bench.get(&told);
        assert_eq!(
            (&told["status"], &told["summary"]),
            (&json!("failed"), &json!("no \"paper\" 🦀"))
        );
        assert_eq!(
            (&told["runtime_ms"], &told["recent_log"]),
            (&json!(10), &json!(""))
        );
        assert_eq!(bench.get(&silent)["summary"], json!("failed as asked"));
    }
}

#[test]
fn a_job_whose_time_is_up_ends() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let (spin, _) = bench.start(json!({"program": "spin", "timeout_ms": 250}));
        // Its last step falls together with the end of its time.
        let (count, _) = bench.start(json!({"program": "count", "args": {"steps": 1}, "timeout_ms": 100}));
        bench.pass(249);
        assert_eq!(bench.get(&spin)["status"], json!("running"));
        assert_eq!(bench.get(&count)["status"], json!("timeout"));
        assert_eq!(bench.get(&count)["log_lines"], json!(0));
        bench.pass(1);
        let spin = bench.get(&spin);
        assert_eq!(
            (&spin["status"], &spin["runtime_ms"]),
            (&json!("timeout"), &json!(250))
        );
        assert_eq!(spin["summary"], json!("timed out after 250 ms"));
    }
}

#[test]
fn a_busy_job_leaves_time_for_others_and_its_log_is_bounded() {
    let mut bench = Bench::new(Legacy);
    let (id, _) = bench.start(json!({"program": "spin"}));
    bench.pass(3);
    let job = bench.get(&id);
    assert_eq!(job["recent_log"], json!("slice 1\nslice 2\nslice 3\n"));
    assert_eq!(job["log_truncated"], json!(false));
    bench.pass(4997);
    let job = bench.get(&id);
    let log = job["recent_log"].as_str().unwrap();
    // Lines of 11 bytes: 186 of them fit into 2048.
    let kept: String = (5000 - 185..=5000).map(|n| format!("slice {n}\n")).collect();
    assert_eq!(log, kept);
    assert_eq!(
        (&job["log_lines"], &job["log_truncated"]),
        (&json!(5000), &json!(true))
    );
}

#[test]
fn blink_flashes_and_gives_the_led_back() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        bench.call("led_set", json!({"on": true, "brightness": 7}));
        let order = json!({"program": "blink", "args": {"steps": 2, "step_ms": 20}});
        let (id, _) = bench.start(order);
        let mut seen = vec![bench.led()];
        for _ in 0..4 {
            bench.pass(20);
            seen.push(bench.led());
        }
        let (lit, dark) = ((true, 7), (false, 7));
        assert_eq!(
            seen,
            [lit, lit, dark, lit, lit],
            "after the end the LED is as it was found"
        );
        assert_eq!(bench.get(&id)["recent_log"], json!("on\noff\non\noff\n"));
        assert_eq!(bench.get(&id)["summary"], json!("steps done: 2"));
    }
}

#[test]
fn a_stopped_blink_gives_the_led_back() {
    let mut bench = Bench::new(Legacy);
    let (id, _) = bench.start(json!({"program": "blink", "args": {"step_ms": 20}}));
    bench.pass(20);
    assert_eq!(bench.led(), (true, 100));
    let stopped = bench.ask("job_stop", json!({"job_id": id, "wait_ms": 0}));
    assert_eq!(
        stopped,
        json!({"job_id": id, "status": "stopped", "outcome": "stopped"})
    );
    assert_eq!(bench.led(), (false, 100));
}

#[test]
fn sweep_fades_up_and_down() {
    let mut bench = Bench::new(Legacy);
    let (id, _) = bench.start(json!({"program": "sweep", "args": {"steps": 2, "step_ms": 10}}));
    let mut seen = Vec::new();
    for _ in 0..39 {
        bench.pass(10);
        seen.push(bench.led());
    }
    let sweep = (1..=10).chain((0..10).rev()).map(|tenth| (true, tenth * 10));
    assert_eq!(seen, sweep.clone().chain(sweep).take(39).collect::<Vec<_>>());
    assert_eq!(bench.get(&id)["status"], json!("running"));
    bench.pass(10);
    assert_eq!(bench.get(&id)["summary"], json!("steps done: 2"));
    assert_eq!(bench.led(), (false, 100));
}

#[test]
fn a_sweep_that_is_stopped_winds_down() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let (id, _) = bench.start(json!({"program": "sweep", "args": {"step_ms": 100}}));
        bench.pass(350);
        let stop = |bench: &Bench| bench.ask("job_stop", json!({"job_id": id, "wait_ms": 0}));
        let stopping = json!({"job_id": id, "status": "running", "outcome": "stopping"});
        assert_eq!(stop(&bench), stopping);
        assert_eq!(bench.get(&id)["stopping"], json!(true));
        assert_eq!(stop(&bench), stopping, "stopping twice is no error");
        bench.pass(249);
        assert_eq!(bench.led(), (true, 10));
        assert_eq!(
            bench.ask("job_stop_all", json!({"wait_ms": 0})),
            json!({"stopped": 0, "stopping": 1})
        );
        bench.pass(1);
        assert_eq!(bench.led(), (false, 100));
        let job = bench.get(&id);
        assert_eq!(job["recent_log"], json!("10 %\n20 %\n30 %\n20 %\n10 %\n0 %\n"));
        assert_eq!(
            (&job["status"], &job["stopping"]),
            (&json!("stopped"), &json!(false))
        );
        assert_eq!(
            (&job["summary"], &job["runtime_ms"]),
            (&json!("stopped"), &json!(600))
        );
        let ended = json!({"job_id": id, "status": "stopped", "outcome": "already_ended"});
        assert_eq!(stop(&bench), ended);
    }
}

#[test]
fn a_sweep_without_light_stops_at_once() {
    let mut bench = Bench::new(Legacy);
    let (id, _) = bench.start(json!({"program": "sweep", "args": {"step_ms": 100}}));
    bench.pass(99);
    assert_eq!(
        bench.ask("job_stop", json!({"job_id": id, "wait_ms": 0}))["status"],
        json!("stopped")
    );
    let (id, _) = bench.start(json!({"program": "sweep", "args": {"step_ms": 10}}));
    bench.pass(200); // between two sweeps
    assert_eq!(bench.led(), (true, 0));
    assert_eq!(
        bench.ask("job_stop", json!({"job_id": id, "wait_ms": 0}))["status"],
        json!("stopped")
    );
    assert_eq!(bench.led(), (false, 100));
}

#[test]
fn winding_down_does_not_outlast_the_timeout() {
    let mut bench = Bench::new(Legacy);
    let (id, _) = bench.start(json!({"program": "sweep", "args": {"step_ms": 100}, "timeout_ms": 1050}));
    bench.pass(1000);
    bench.ask("job_stop", json!({"job_id": id, "wait_ms": 0}));
    bench.pass(50);
    let job = bench.get(&id);
    assert_eq!(
        (&job["status"], &job["summary"]),
        (&json!("stopped"), &json!("stopped"))
    );
    assert_eq!(job["runtime_ms"], json!(1050));
}

#[test]
fn a_stop_waits_for_the_end() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let (id, _) = bench.start(json!({"program": "sweep", "args": {"step_ms": 100}}));
        bench.pass(300);
        let stop = era.tool("job_stop", json!({"job_id": id, "wait_ms": 300}));
        let mut stop = pin!(stop.to_async(&bench.device, bench.now));
        assert!(poll_once(stop.as_mut()).is_pending());
        assert_eq!(bench.device.poll(Millis(bench.now)), Some(Millis(1400)));
        assert!(poll_once(stop.as_mut()).is_pending());
        for now in [1400, 1500] {
            bench.device.poll(Millis(now));
            assert!(poll_once(stop.as_mut()).is_pending(), "{now}");
        }
        assert_eq!(bench.device.poll(Millis(1600)), None);
        let std::task::Poll::Ready(answer) = poll_once(stop.as_mut()) else {
            panic!("it has ended")
        };
        let stopped = format!(r#"{{"job_id":"{id}","status":"stopped","outcome":"stopped"}}"#);
        answer.is(200, era.structured(stopped));
    }
}

#[test]
fn a_stop_waits_no_longer_than_it_was_told() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        bench.start(json!({"program": "sweep", "args": {"step_ms": 1000}}));
        bench.pass(1000);
        for (tool, arguments, answer) in [
            ("job_stop_all", json!({}), r#"{"stopped":0,"stopping":1}"#),
            (
                "job_stop",
                json!({"job_id": "00000004"}),
                r#"{"job_id":"00000004","status":"running","outcome":"stopping"}"#,
            ),
        ] {
            let mut arguments = arguments.clone();
            arguments["wait_ms"] = json!(70);
            let stop = era.tool(tool, arguments);
            let mut stop = pin!(stop.to_async(&bench.device, bench.now));
            assert!(poll_once(stop.as_mut()).is_pending());
            // The device asks to be woken for the end of the wait, well before the job's next step.
            assert_eq!(bench.device.poll(Millis(bench.now)), Some(Millis(bench.now + 70)));
            bench.device.poll(Millis(bench.now + 69));
            assert!(poll_once(stop.as_mut()).is_pending());
            bench.now += 70;
            bench.device.poll(Millis(bench.now));
            let std::task::Poll::Ready(told) = poll_once(stop.as_mut()) else {
                panic!("the wait is over")
            };
            told.is(200, era.structured(answer));
        }
    }
}

#[test]
fn one_stop_waits_at_a_time_and_one_that_is_dropped_waits_no_more() {
    let mut bench = Bench::new(Legacy);
    let (id, _) = bench.start(json!({"program": "sweep", "args": {"step_ms": 30_000}}));
    bench.pass(30_000);
    let wait = Legacy.tool("job_stop", json!({"job_id": id, "wait_ms": 5000}));
    {
        let mut first = pin!(wait.to_async(&bench.device, bench.now));
        assert!(poll_once(first.as_mut()).is_pending());
        let second = bench.ask("job_stop", json!({"job_id": id, "wait_ms": 5000}));
        assert_eq!(second["outcome"], json!("stopping"));
        assert!(poll_once(first.as_mut()).is_pending());
    }
    let now = bench.now;
    assert_eq!(
        bench.device.poll(Millis(now)),
        Some(Millis(61_000)),
        "only the timeout is due"
    );
    let mut third = pin!(wait.to_async(&bench.device, now));
    assert!(poll_once(third.as_mut()).is_pending());
}

#[test]
fn the_clock_is_told_when_something_is_due_sooner() {
    let bench = Bench::new(Legacy);
    assert_eq!(bench.device.poll(Millis(bench.now)), None);
    let mut sooner = pin!(bench.device.sooner());
    assert!(poll_once(sooner.as_mut()).is_pending());
    bench.start(json!({"program": "count"}));
    assert!(poll_once(sooner.as_mut()).is_ready());
    assert_eq!(
        bench.device.poll(Millis(bench.now)),
        Some(Millis(bench.now + 100))
    );
}

#[test]
fn four_run_and_the_rest_wait_in_order() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let ids: Vec<_> = (1..=6)
            .map(|n| {
                let args = json!({"steps": 1, "step_ms": 100 * n});
                bench.start(json!({"program": "count", "args": args, "timeout_ms": 1000}))
            })
            .collect();
        let begun: Vec<_> = ids.iter().map(|(_, status)| status.as_str()).collect();
        assert_eq!(
            begun,
            ["running", "running", "running", "running", "queued", "queued"]
        );
        bench.pass(150);
        let states = |bench: &Bench| bench.jobs(json!({})).join(", ").replace("count ", "");
        assert_eq!(states(&bench), "done, running, running, running, running, queued");
        assert_eq!(
            bench.get(&ids[4].0)["runtime_ms"],
            json!(50),
            "from when it began to run"
        );
        assert_eq!(bench.get(&ids[5].0)["runtime_ms"], json!(0));
        bench.pass(50);
        assert_eq!(states(&bench), "done, done, running, running, running, running");
        // The sixth began at 200 and takes 600.
        bench.pass(600);
        assert_eq!(states(&bench), "done, done, done, done, done, done");
        assert_eq!(bench.jobs(json!({"status": "queued"})), [""; 0]);
        assert_eq!(bench.jobs(json!({"status": "done"})).len(), 6);
    }
}

#[test]
fn a_queued_job_is_stopped_without_having_run() {
    let mut bench = Bench::new(Legacy);
    for _ in 0..4 {
        bench.start(json!({"program": "spin"}));
    }
    let (queued, _) = bench.start(json!({"program": "spin", "timeout_ms": 10, "name": "later"}));
    bench.pass(100);
    assert_eq!(
        bench.get(&queued)["status"],
        json!("queued"),
        "its time has not begun"
    );
    let stopped = bench.ask("job_stop", json!({"name": "later"}));
    assert_eq!(
        stopped,
        json!({"job_id": queued, "status": "stopped", "outcome": "stopped"})
    );
    assert_eq!(bench.get(&queued)["runtime_ms"], json!(0));
    assert_eq!(
        bench.ask("job_stop_all", json!({})),
        json!({"stopped": 4, "stopping": 0})
    );
}

#[test]
fn stopping_all_lets_no_queued_job_begin() {
    for era in ERAS {
        let bench = Bench::new(era);
        for _ in 0..6 {
            bench.start(json!({"program": "spin"}));
        }
        assert_eq!(
            bench.ask("job_stop_all", json!({})),
            json!({"stopped": 6, "stopping": 0})
        );
        assert_eq!(bench.jobs(json!({"status": "stopped"})).len(), 6);
        let log = bench.ask("log_tail", json!({"lines": 32}))["lines"].to_string();
        assert_eq!(log.matches("runs spin").count(), 4);
    }
}

#[test]
fn a_group_has_one_job_at_a_time() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let led = |program: &str| json!({"program": program, "exclusive": "led"});
        let (blink, _) = bench.start(led("blink"));
        bench.refuses(
            "job_start",
            led("sweep"),
            &format!(r#"group "led" is in use by job {blink}; stop it with job_stop, or set replace to have it stopped"#),
        );
        assert_eq!(bench.jobs(json!({})), ["blink running"]);
        bench.start(json!({"program": "spin", "exclusive": "other"}));
        bench.start(json!({"program": "spin"}));
        bench.start(json!({"program": "spin", "exclusive": ""}));
        assert_eq!(
            bench.ask("job_stop_all", json!({"exclusive": "led"})),
            json!({"stopped": 1, "stopping": 0})
        );
        bench.start(led("count"));
        bench.pass(1000);
        bench.start(led("fail"));
        assert_eq!(
            bench.jobs(json!({})),
            [
                "blink stopped",
                "spin running",
                "spin running",
                "spin running",
                "count done",
                "fail running"
            ]
        );
    }
}

#[test]
fn a_job_that_is_replaced_is_stopped_first() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let led = |program: &str| json!({"program": program, "args": {"step_ms": 10}, "exclusive": "led", "replace": true});
        bench.start(led("blink"));
        let (_, status) = bench.start(led("sweep"));
        assert_eq!(status, "running");
        assert_eq!(bench.jobs(json!({})), ["blink stopped", "sweep running"]);
        bench.pass(30);
        // The sweep has light, and winds down before the next one begins; one that waits is replaced at once.
        let (_, status) = bench.start(led("count"));
        assert_eq!(status, "queued");
        let (fail, _) = bench.start(led("fail"));
        let waiting = ["blink stopped", "sweep running", "count stopped", "fail queued"];
        assert_eq!(bench.jobs(json!({})), waiting);
        bench.refuses(
            "job_start",
            json!({"program": "spin", "exclusive": "led"}),
            &format!(r#"group "led" is in use by job {fail}; stop it with job_stop, or set replace to have it stopped"#),
        );
        let (_, status) = bench.start(json!({"program": "spin"}));
        assert_eq!(status, "running", "a group that is busy holds up no other job");
        bench.pass(29);
        assert_eq!(bench.jobs(json!({}))[..4], waiting);
        bench.pass(1);
        assert_eq!(
            bench.jobs(json!({}))[..4],
            ["blink stopped", "sweep stopped", "count stopped", "fail running"]
        );
    }
}

#[test]
fn the_oldest_ended_job_makes_room_and_a_live_one_never() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let (live, _) = bench.start(json!({"program": "spin"}));
        let ids: Vec<_> = (1..MAX_JOBS)
            .map(|_| bench.start(json!({"program": "fail", "args": {"step_ms": 10}})).0)
            .collect();
        bench.pass(1000);
        assert_eq!((MAX_JOBS, bench.jobs(json!({})).len()), (16, 16));
        bench.device.board().chance.set(0xfffe_0000);
        let (next, _) = bench.start(json!({"program": "spin"}));
        assert_eq!(next, "fffe0004");
        let text = format!(
            r#"there is no job with id "{}"; job_list tells which jobs there are"#,
            ids[0]
        );
        bench.refuses("job_get", json!({"job_id": ids[0]}), &text);
        for id in [&live, &ids[1], &next] {
            bench.get(id);
        }
        assert_eq!(
            bench.get(&next)["recent_log"],
            json!(""),
            "nothing is left of the job before"
        );
    }
}

#[test]
fn sixteen_live_jobs_are_all_that_there_may_be() {
    for era in ERAS {
        let bench = Bench::new(era);
        let group = json!({"program": "spin", "exclusive": "g", "replace": true});
        let (first, _) = bench.start(group.clone());
        for _ in 1..MAX_JOBS {
            bench.start(json!({"program": "spin"}));
        }
        let full = "16 jobs are live, and no more are kept; stop one with job_stop, or wait until one ends";
        bench.refuses("job_start", json!({"program": "count"}), full);
        bench.refuses("job_start", group.clone(), full);
        assert_eq!(
            bench.get(&first)["status"],
            json!("running"),
            "nothing was stopped for nothing"
        );
        bench.ask("job_stop", json!({"job_id": first}));
        bench.start(group);
        bench.refuses("job_start", json!({"program": "count"}), full);
        assert_eq!(
            bench.ask("job_stop_all", json!({})),
            json!({"stopped": 16, "stopping": 0})
        );
    }
}

#[test]
fn a_job_is_found_by_id_or_by_name() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        let order = |program: &str| json!({"program": program, "name": "a", "args": {"step_ms": 10}});
        let (first, _) = bench.start(json!({"program": "spin", "name": "a"}));
        let (second, _) = bench.start(json!({"program": "spin", "name": "a"}));
        let (third, _) = bench.start(order("fail"));
        let named = |bench: &Bench| bench.ask("job_get", json!({"name": "a"}))["job_id"].clone();
        assert_eq!(named(&bench), json!(third), "the last started");
        bench.pass(10);
        assert_eq!(named(&bench), json!(second), "that is live");
        bench.ask("job_stop_all", json!({}));
        assert_eq!(named(&bench), json!(third), "or else the last started");
        let by_id = bench.ask("job_get", json!({"name": "a", "job_id": first}));
        assert_eq!(by_id["job_id"], json!(first));
        let no_id = bench.ask("job_get", json!({"name": "a", "job_id": ""}));
        assert_eq!(no_id["job_id"], json!(third));
    }
}

#[test]
fn a_job_that_is_not_there_is_told() {
    for era in ERAS {
        let bench = Bench::new(era);
        bench.start(json!({"program": "spin"}));
        for tool in ["job_get", "job_stop"] {
            for arguments in [json!({}), json!({"job_id": ""}), json!({"name": ""})] {
                bench.refuses(
                    tool,
                    arguments,
                    "give job_id or name; job_list tells which jobs there are",
                );
            }
            for id in ["00000005", "4", "0000000G", "+0000004", "ABCDEF01", "é"] {
                let text = format!(r#"there is no job with id "{id}"; job_list tells which jobs there are"#);
                bench.refuses(tool, json!({"job_id": id, "name": "x"}), &text);
            }
            let text = r#"there is no job named "a\"b"; job_list tells which jobs there are"#;
            bench.refuses(tool, json!({"name": "a\"b"}), text);
        }
        assert_eq!(bench.jobs(json!({})), ["spin running"]);
    }
}

#[test]
fn an_order_that_can_not_be_met_starts_nothing() {
    for era in ERAS {
        let bench = Bench::new(era);
        for (order, text) in [
            (
                json!({"program": "reboot"}),
                r#"invalid arguments: /program: expected one of "count", "blink", "sweep", "fail", "spin""#,
            ),
            (
                json!({}),
                r#"invalid arguments: : required property "program" is missing"#,
            ),
            (
                json!({"program": "count", "args": {"step_ms": 9}}),
                "invalid arguments: /args/step_ms: less than 10",
            ),
            (
                json!({"program": "count", "args": {"speed": 9}}),
                r#"invalid arguments: /args: unexpected property "speed""#,
            ),
            (
                json!({"program": "count", "args": {"reason": "x"}}),
                r#"program count does not take "reason"; it takes steps, step_ms"#,
            ),
            (
                json!({"program": "fail", "args": {"steps": 1}}),
                r#"program fail does not take "steps"; it takes step_ms, reason"#,
            ),
            (
                json!({"program": "spin", "args": {"step_ms": 10}}),
                r#"program spin does not take "step_ms"; it takes nothing"#,
            ),
            (
                json!({"program": "spin", "name": "x".repeat(25)}),
                "invalid arguments: /name: longer than 24 characters",
            ),
        ] {
            bench.refuses("job_start", order, text);
        }
        assert_eq!(bench.ask("job_list", json!({})), json!({"jobs": []}));
    }
}

#[test]
fn the_longest_list_and_the_longest_log_fit_into_an_answer() {
    for era in ERAS {
        let mut bench = Bench::new(era);
        // Control characters take most bytes of JSON.
        let worst = "\u{1}".repeat(24);
        for n in 0..MAX_JOBS as u64 {
            let group = format!("{}{n:x}", &worst[1..]);
            let args = json!({"steps": 1000, "step_ms": 10});
            bench.start(json!({"program": "count", "args": args, "name": worst, "exclusive": group, "timeout_ms": 3_600_000}));
        }
        bench.pass(3_600_000 / 2);
        assert_eq!(bench.jobs(json!({})).len(), MAX_JOBS);
        let job = bench.ask("job_get", json!({"name": worst}));
        assert!(job["recent_log"].as_str().unwrap().len() > 2048 - 5);
    }
}

#[test]
fn what_jobs_do_is_in_the_boards_log() {
    let mut bench = Bench::new(Legacy);
    bench.start(json!({"program": "count", "args": {"steps": 1}}));
    bench.pass(100);
    let lines: Value = bench.ask("log_tail", json!({"lines": 2}))["lines"].clone();
    assert_eq!(
        lines,
        json!(["1.000 job 00000004 runs count", "1.100 job 00000004 done"])
    );
}
