//! The processes of the runs: this program started again, once for each.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{self, Command, Stdio},
};

use libc::{SIGINT, SIGTERM};

use super::{
    division::Division,
    plan::{Plan, PlannedRun},
};
use crate::{error::TrainerError, files};

/// How this program is started: its name, and the words that start it.
#[derive(Debug)]
pub(super) struct Program {
    name: OsString,
    words: Vec<OsString>,
}

/// The file of the program at hand, also where a build has put another in its place, or it is gone.
const THIS_FILE: &str = "/proc/self/exe";

impl Program {
    /// The program at hand: its file, or, in a Python process, the module.
    pub fn this() -> Result<Self, TrainerError> {
        if python_shim::interpreter::is_guest() {
            let python = python_shim::doctor::python_facts()?.executable;
            return Ok(Self {
                name: python.clone().into(),
                words: vec![python.into(), "-m".into(), "rust_trainer".into()],
            });
        }
        let path = env::current_exe().map_err(TrainerError::io("find", THIS_FILE))?;
        Ok(Self {
            name: path.clone().into(),
            words: vec![path.into()],
        })
    }

    /// What is started: by its path, which tools that list processes show, as long as it stands there.
    fn file(&self) -> &Path {
        let path = Path::new(&self.words[0]);
        let this = File::open(THIS_FILE);
        let is_gone = this.is_ok_and(|this| !files::is_at(&this, path));
        if is_gone && !python_shim::interpreter::is_guest() {
            return Path::new(THIS_FILE);
        }
        path
    }

    /// Starts a run, or goes on with it.
    pub fn start(
        &self,
        plan: &Plan,
        run: PlannedRun,
        division: &Division,
    ) -> Result<Child, TrainerError> {
        let log_path = run.beside("log");
        let log = File::options().create(true).append(true).open(&log_path);
        let log = log.map_err(TrainerError::io("open", &log_path))?;
        let log_begin = log.metadata().map_or(0, |about| about.len());
        let again = |log: &File| log.try_clone().map(Stdio::from);
        let failed = TrainerError::io("start", &self.name);
        let mut command = Command::new(self.file());
        command
            .arg0(&self.name)
            .args(&self.words[1..])
            .args(arguments(plan, &run, division)?)
            .stdin(Stdio::null())
            .stdout(again(&log).map_err(failed)?)
            .stderr(log)
            // Ctrl-C in a terminal goes to its whole process group; we pass it on ourselves.
            .process_group(0);
        die_with_parent(&mut command);
        let process = command.spawn().map_err(failed)?;
        Ok(Child {
            run,
            process,
            told: false,
            log_begin,
        })
    }
}

/// The words behind the program's name that start `run`, or go on with it.
pub(super) fn arguments(
    plan: &Plan,
    run: &PlannedRun,
    division: &Division,
) -> Result<Vec<OsString>, TrainerError> {
    let mut words: Vec<OsString> = vec!["train".into()];
    let mut name = |option: &str, value: OsString| words.extend([option.into(), value]);
    if run.has_begun() {
        name("--resume", run.folder.clone().into());
        let total = plan.settings.run.total_steps;
        name("--total-steps", total.to_string().into());
    } else {
        let mut settings = plan.settings.clone();
        settings.run.seed = run.seed;
        settings.run.runs_dir.clone_from(&plan.folder);
        settings.run.run_name.clone_from(&run.name);
        settings.env.env_id.clone_from(&run.env_id);
        // Frames of several runs in one folder would take each other's names.
        if !settings.run.img_dir.as_os_str().is_empty() {
            settings.run.img_dir = settings.run.img_dir.join(&run.name);
        }
        let config = run.beside("toml");
        fs::write(&config, settings.to_toml()).map_err(TrainerError::io("write", &config))?;
        name("--config", config.into());
        name("--run-name", run.name.clone().into());
        name("--runs-dir", plan.folder.clone().into());
        // One that goes on keeps those that it began with: another number changes its sums.
        name("--torch-threads", division.torch_threads.to_string().into());
        name("--env-threads", division.env_threads.to_string().into());
    }
    Ok(words)
}

/// A parent that is killed takes its children with it: each stops as by SIGTERM, with a checkpoint.
#[expect(unsafe_code, reason = "what happens between fork and exec")]
fn die_with_parent(command: &mut Command) {
    let parent = process::id();
    let ask = move || {
        // SAFETY: each is one system call, and may be made between fork and exec.
        let (asked, above) = unsafe {
            let asked = libc::prctl(libc::PR_SET_PDEATHSIG, SIGTERM);
            (asked, libc::getppid())
        };
        match asked {
            0 if above as u32 == parent => Ok(()),
            // The parent was gone before it could be asked for.
            0 => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: `ask` allocates nothing and takes no lock.
    unsafe { command.pre_exec(ask) };
}

/// The process of a run.
#[derive(Debug)]
pub(super) struct Child {
    pub run: PlannedRun,
    process: process::Child,
    /// It was asked to stop: asked again it would end at once.
    told: bool,
    /// Where in the log its own lines begin.
    log_begin: u64,
}

impl Child {
    /// Asks it to stop, as Ctrl-C does.
    #[expect(unsafe_code, reason = "a signal to another process")]
    pub fn stop(&mut self) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        let id = self.process.id() as libc::pid_t;
        // SAFETY: the process was not waited for yet, so the number is still its own.
        unsafe { libc::kill(id, SIGINT) };
    }

    /// Whether it has ended, and its last words where it was not finished.
    pub fn ended(&mut self) -> Result<Option<Result<(), String>>, TrainerError> {
        let log = self.run.beside("log");
        let status = (self.process.try_wait()).map_err(TrainerError::io("wait for", &log))?;
        Ok(status.map(|status| {
            if status.success() {
                let _gone = fs::remove_file(self.run.beside("toml"));
                return Ok(());
            }
            let text = fs::read(&log).unwrap_or_default();
            let own = text.get(self.log_begin as usize..).unwrap_or_default();
            let own = String::from_utf8_lossy(own);
            let mut lines = own.lines().filter(|line| !line.trim().is_empty());
            let error = lines.clone().rfind(|line| line.starts_with("error: "));
            let words = error.or_else(|| lines.next_back()).unwrap_or("no word");
            Err(format!("{words} ({status}; see {})", log.display()))
        }))
    }
}

/// The processes at work. Where they are dropped all are asked to stop before one is waited for.
#[derive(Debug, Default)]
pub(super) struct AtWork(pub Vec<Child>);

impl AtWork {
    /// Asks all to stop.
    pub fn stop(&mut self) {
        self.0.iter_mut().for_each(Child::stop);
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Drop for Child {
    /// No run is left behind without the one who watches it.
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.stop();
            let _ended = self.process.wait();
        }
    }
}
