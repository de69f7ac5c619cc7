//! Python's server as a process, and a network that can be cut.
#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    env,
    io::{self, BufRead, BufReader},
    net::{Shutdown, TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use vec_env_remote::Server;

pub const TOKEN: &str = "a-token";

/// The interpreter of the virtual environment, which `.cargo/config.toml` names.
pub fn python() -> PathBuf {
    env::var_os("PYO3_PYTHON").unwrap().into()
}

pub fn rom(game: &str) -> PathBuf {
    let library = python().parent().unwrap().join("../lib");
    let mut folders = library
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let roms = folders.find_map(|folder| {
        let roms = folder.join("site-packages/ale_py/roms");
        roms.is_dir().then_some(roms)
    });
    roms.unwrap().join(format!("{game}.bin"))
}

/// A server that ends with this value.
pub struct Served {
    pub process: Child,
    pub address: String,
}

impl Served {
    /// `python -m atari_wrappers serve`, on a port that is free unless the arguments say where.
    pub fn start(arguments: &[&str]) -> Self {
        let listen: &[&str] = if arguments.contains(&"--listen") {
            &[]
        } else {
            &["--listen", "127.0.0.1:0"]
        };
        let command = [&["-m", "atari_wrappers", "serve"], arguments, listen].concat();
        Self::run(&command)
    }

    pub fn run(arguments: &[&str]) -> Self {
        let mut process = Command::new(python())
            .args(arguments)
            .env("ATARI_WRAPPERS_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let told = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(": serving ")));
        let told = told.expect("it serves").unwrap();
        let address = told.rsplit_once(" on ").unwrap().1.to_owned();
        thread::spawn(move || lines.for_each(drop));
        Self { process, address }
    }

    pub fn client(&self) -> Server {
        Server::at(&self.address).token(TOKEN)
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A network between two ports.
pub struct Proxy {
    pub address: String,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub fn new(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let open = Arc::new(Mutex::new(Vec::new()));
        let (target, opened) = (target.to_owned(), open.clone());
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let far = TcpStream::connect(&target).unwrap();
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                opened.lock().unwrap().extend([near, far]);
            }
        });
        Self { address, open }
    }

    /// Closes what is open, and goes on.
    pub fn drop_all(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
