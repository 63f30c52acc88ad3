//! A sweep of many steps is answered soon: it stops where it is told to, with the parameters before it, and its time is foretold
//! without taking every step.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cavi_executor::{Executor, Item, Precision, Schedule, Swept, start};
use cavi_tests::support::{Shape, close, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// More repetitions than anyone waits for.
const ENDLESS: u64 = 1 << 60;

fn endless(schedule: &Schedule) -> Schedule {
    Schedule { items: vec![Item::sequence(schedule.items.clone()).repeated(ENDLESS)] }
}

/// Each block over and over by itself, so that those whose rows are updated in bands are.
fn each_endless(schedule: &Schedule) -> Schedule {
    Schedule { items: schedule.items.iter().map(|item| item.clone().repeated(ENDLESS)).collect() }
}

#[test]
fn a_long_sweep_stops_with_the_parameters_before_it() {
    let mut stopped = 0;
    for program in programs() {
        for (number, threads) in [(0, 1), (1, 2)] {
            let shape = Shape { smallest: 3, largest: 5, ..Shape::small(number == 1) };
            let bound = random_bound(&program.model, shape, &mut ChaCha8Rng::seed_from_u64(number));
            let from = start(&program.equations, &bound, number);
            let mut run = Executor::new(&program.equations, &bound, from, threads).expect("a plan");
            let schedule = program.schedule();
            if schedule.blocks().is_empty() {
                continue;
            }
            // Some have no optimum on data that are random. They stay where they were.
            let before = run.parameters().clone();
            if run.sweep(&schedule).is_err() {
                assert_eq!(*run.parameters(), before, "{}", program.name);
                continue;
            }
            for long in [endless(&schedule), each_endless(&schedule)] {
                let (before, elbo) = (run.parameters().clone(), run.elbo());
                let asked = AtomicUsize::new(0);
                match run.sweep_until(&long, &|| asked.fetch_add(1, Ordering::Relaxed) >= 40) {
                    Ok(Swept::Stopped) => {}
                    Ok(Swept::Whole) => panic!("{}: a sweep without an end has come to it", program.name),
                    Err(_) => {
                        assert_eq!(*run.parameters(), before, "{}", program.name);
                        break;
                    }
                }
                stopped += 1;
                assert_eq!(*run.parameters(), before, "{}", program.name);
                let again = run.elbo();
                assert!(close(again, elbo, 1.0, 1e-9), "{}: {elbo}, then {again}", program.name);
            }
        }
    }
    assert!(stopped > 500, "only {stopped} sweeps were stopped");
}

#[test]
fn a_stop_is_answered_within_a_second() {
    let programs = programs();
    let program = programs.iter().find(|program| program.name == "lda").expect("a program of the corpus");
    let shape = Shape { smallest: 20, largest: 30, ..Shape::small(true) };
    let bound = random_bound(&program.model, shape, &mut ChaCha8Rng::seed_from_u64(1));
    for long in [endless(&program.schedule()), each_endless(&program.schedule())] {
        let from = start(&program.equations, &bound, 1);
        let mut run = Executor::new(&program.equations, &bound, from, 2).expect("a plan");
        let begin = Instant::now();
        let told = Duration::from_millis(100);
        let outcome = run.sweep_until(&long, &|| begin.elapsed() > told);
        assert_eq!(outcome, Ok(Swept::Stopped));
        assert!(begin.elapsed() < told + Duration::from_secs(1), "{:?}", begin.elapsed());
    }
}

#[test]
fn a_short_sweep_is_not_interrupted() {
    let programs = programs();
    let program = programs.iter().find(|program| program.name == "lda").expect("a program of the corpus");
    let bound = random_bound(&program.model, Shape::small(true), &mut ChaCha8Rng::seed_from_u64(1));
    let mut runs = [(), ()].map(|()| {
        let from = start(&program.equations, &bound, 1);
        Executor::new(&program.equations, &bound, from, 1).expect("a plan")
    });
    assert_eq!(runs[0].sweep(&program.schedule()), Ok(()));
    assert_eq!(runs[1].sweep_until(&program.schedule(), &|| true), Ok(Swept::Whole));
    assert_eq!(runs[0].parameters(), runs[1].parameters());
}

/// What is repeated is foretold from its first times alone.
#[test]
fn the_forecast_of_repetitions_is_that_of_the_items_written_out() {
    const TIMES: u64 = 9;
    for program in programs() {
        let bound = random_bound(&program.model, Shape::small(false), &mut ChaCha8Rng::seed_from_u64(3));
        let plan = cavi_executor::plan::plan(&program.equations, &bound, Precision::Double);
        let Ok(plan) = plan else { panic!("{}: no plan", program.name) };
        let schedule = program.schedule();
        let written: Vec<Item> = schedule
            .items
            .iter()
            .flat_map(|item| (0..TIMES).map(|_| item.clone().repeated(item.repeat)))
            .collect();
        let times = |item: &Item| Item::sequence(vec![item.clone()]).repeated(TIMES);
        let repeated = Schedule { items: schedule.items.iter().map(times).collect() };
        let [written, repeated] = [Schedule { items: written }, repeated]
            .map(|schedule| plan.forecast(&program.equations, &schedule, 1));
        let counts = |taken: &[cavi_executor::plan::forecast::Taken]| -> Vec<u64> {
            taken.iter().map(|taken| taken.count).collect()
        };
        assert_eq!(counts(&written.nodes), counts(&repeated.nodes), "{}", program.name);
        assert_eq!(counts(&written.sites), counts(&repeated.sites), "{}", program.name);
        assert!(close(written.seconds(), repeated.seconds(), 0.0, 1e-9), "{}", program.name);
        let endless = plan.forecast(&program.equations, &endless(&schedule), 1);
        assert!(endless.seconds() >= repeated.seconds(), "{}", program.name);
    }
}
