//! [`Session`]: requests go out and replies are waited for, over connections that may be lost.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use tonic::{Code, Status, metadata::MetadataMap, transport::Endpoint};

use crate::{
    address::Address,
    call::{Arrived, Call, code_and_details},
    error::RemoteError,
    messages::{Hello, Leave, Reply, Request, Welcome, reply::Answer, request::Call as Asked},
    server::Server,
};

/// Versions of the protocol that this crate speaks.
const OLDEST_VERSION: u32 = 1;
const NEWEST_VERSION: u32 = 1;
const RETRY: Duration = Duration::from_millis(100);
/// How long a client that leaves waits for the server to close a batch that it would keep otherwise.
const GOODBYE: Duration = Duration::from_secs(2);

/// What a server serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    method: &'static str,
    what: &'static str,
}

pub(crate) const BATCHES: Service = Service {
    method: "/atari_wrappers.batches.v1.Batches/Open",
    what: "batches",
};
pub(crate) const POLICIES: Service = Service {
    method: "/atari_wrappers.batches.v1.Policies/Open",
    what: "policies",
};

/// What a client has with a server, from the first connection to the last.
pub(crate) struct Session {
    pub(crate) address: Address,
    server: Server,
    service: Service,
    endpoint: Endpoint,
    authorization: Option<String>,
    call: Option<Call>,
    next_id: u64,
    /// The last reply that is here, and the last request whose failure nobody waits for.
    received: u64,
    forgotten: u64,
    /// The request whose reply was not there in time, and that reply once it came while another was waited for.
    late: Option<u64>,
    kept: Option<Reply>,
    /// Requests that may have to be sent again.
    unanswered: BTreeMap<u64, Request>,
    lost_at: Option<Instant>,
    was_welcome: bool,
    /// What the server keeps the batch under, if it does.
    key: String,
}

impl Session {
    /// Connects, and agrees with the server on a version. A server that is not up yet may come.
    ///
    /// # Errors
    /// Any [`RemoteError`].
    pub(crate) fn open(
        server: &Server,
        service: Service,
        hello: Hello,
    ) -> Result<(Self, Welcome), RemoteError> {
        let mut session = Self {
            address: server.address()?,
            server: server.clone(),
            service,
            endpoint: server.endpoint()?,
            authorization: server.authorization()?,
            call: None,
            next_id: 1,
            received: 0,
            forgotten: 0,
            late: None,
            kept: None,
            unanswered: BTreeMap::new(),
            lost_at: None,
            was_welcome: false,
            key: String::new(),
        };
        let hello = Hello {
            oldest_version: OLDEST_VERSION,
            newest_version: NEWEST_VERSION,
            keep_seconds: server.reconnect.as_secs_f64(),
            ..hello
        };
        let welcome = session.greet(&hello)?;
        Ok((session, welcome))
    }

    fn greet(&mut self, hello: &Hello) -> Result<Welcome, RemoteError> {
        let until = Instant::now().checked_add(self.server.connect_timeout);
        let reply = loop {
            self.open_call()?;
            let number = self.ask(Asked::Hello(hello.clone()))?;
            match self.answer(number, None) {
                Err(RemoteError::Absent { .. })
                    if until.is_none_or(|until| Instant::now() < until) => {}
                other => break other?,
            }
            self.unanswered.clear();
            thread::sleep(RETRY);
        };
        let Some(Answer::Welcome(welcome)) = reply.answer else {
            return Err(self.broken("no welcome"));
        };
        if !(OLDEST_VERSION..=NEWEST_VERSION).contains(&welcome.version) {
            let version = welcome.version;
            return Err(self.broken(&format!("version {version} of the protocol")));
        }
        self.was_welcome = true;
        self.key.clone_from(&welcome.session);
        Ok(welcome)
    }

    fn open_call(&mut self) -> Result<(), RemoteError> {
        let mut metadata = MetadataMap::new();
        let key = Some(self.key.clone()).filter(|key| !key.is_empty());
        for (name, value) in [("authorization", &self.authorization), ("session", &key)] {
            let Some(value) = value else { continue };
            metadata.insert(name, value.parse().map_err(|_| RemoteError::Token)?);
        }
        let call = Call::begin(self.endpoint.clone(), self.service.method, metadata);
        self.call = Some(call.map_err(|error| RemoteError::Lost {
            address: self.address.to_string(),
            details: error.to_string(),
        })?);
        Ok(())
    }

    /// Sends a request, and returns its id.
    ///
    /// # Errors
    /// [`RemoteError::Closed`].
    pub(crate) fn ask(&mut self, asked: Asked) -> Result<u64, RemoteError> {
        let call = self.call.as_ref().ok_or(RemoteError::Closed)?;
        let id = self.next_id;
        self.next_id += 1;
        let request = Request {
            id,
            received: self.received,
            call: Some(asked),
        };
        if !self.server.reconnect.is_zero() {
            self.unanswered.insert(id, request.clone());
        }
        if self.lost_at.is_none() {
            call.send(request);
        }
        Ok(id)
    }

    /// Sends a request and waits for the reply.
    ///
    /// # Errors
    /// Those of [`Session::answer`].
    pub(crate) fn call(&mut self, asked: Asked) -> Result<Reply, RemoteError> {
        let number = self.ask(asked)?;
        self.answer(number, None)
    }

    /// Waits for the reply to a request.
    ///
    /// # Errors
    /// [`RemoteError::Timeout`] after `timeout`, and it can be waited for again; [`RemoteError::Failed`] where a request
    /// did; after any other the connection is gone.
    pub(crate) fn answer(
        &mut self,
        number: u64,
        timeout: Option<Duration>,
    ) -> Result<Reply, RemoteError> {
        if let Some(reply) = self.kept.take_if(|kept| kept.id == number) {
            return self.said(reply);
        }
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let reply = self.receive(until).inspect_err(|error| {
                self.late = (*error == RemoteError::Timeout).then_some(number);
            })?;
            if reply.id <= self.received {
                continue; // again, after the connection was lost
            }
            self.received = reply.id;
            self.unanswered = self.unanswered.split_off(&reply.id.saturating_add(1));
            let is_late = self.late.take_if(|late| *late == reply.id).is_some();
            if is_late && reply.id < number {
                self.kept = Some(reply);
                continue;
            }
            let reply = self.said(reply)?;
            if reply.id >= number {
                return Ok(reply);
            }
        }
    }

    /// A reply, unless it is a failure that somebody waits for.
    fn said(&self, mut reply: Reply) -> Result<Reply, RemoteError> {
        match reply.answer.take() {
            Some(Answer::Failure(failure)) if reply.id > self.forgotten => Err(failure.into()),
            answer => Ok(Reply { answer, ..reply }),
        }
    }

    /// Takes what was asked until now for answered.
    pub(crate) fn forget(&mut self) {
        self.forgotten = self.next_id - 1;
        (self.late, self.kept) = (None, None);
    }

    /// What arrives next, if need be by another connection.
    fn receive(&mut self, until: Option<Instant>) -> Result<Reply, RemoteError> {
        loop {
            let reply = match self.next(until)? {
                Arrived::Reply(reply) => *reply,
                Arrived::End(end) => {
                    self.go_on(end)?;
                    continue;
                }
            };
            let Some(Answer::Resumed(resumed)) = &reply.answer else {
                return Ok(reply);
            };
            self.lost_at = None;
            self.tell(&format!(
                "the connection to the server at {} is back",
                self.address
            ));
            let missing = self.unanswered.range(resumed.last_id.saturating_add(1)..);
            for (_, request) in missing {
                self.call.iter().for_each(|call| call.send(request.clone()));
            }
        }
    }

    /// What the call gives next, within the time that the caller and the server have.
    fn next(&mut self, until: Option<Instant>) -> Result<Arrived, RemoteError> {
        let call = self.call.as_ref().ok_or(RemoteError::Closed)?;
        let limit = match self.lost_at {
            None => self.server.timeout,
            Some(lost_at) => {
                let left = self.server.reconnect.saturating_sub(lost_at.elapsed());
                left.max(RETRY)
            }
        };
        let callers = until.map(|until| until.saturating_duration_since(Instant::now()));
        let is_callers = callers.is_some_and(|callers| callers < limit);
        if let Some(arrived) = call.next(callers.map_or(limit, |callers| callers.min(limit))) {
            return Ok(arrived);
        }
        if is_callers {
            return Err(RemoteError::Timeout);
        }
        self.call = None;
        Err(RemoteError::Silent {
            address: self.address.to_string(),
            waited: limit,
        })
    }

    /// Makes another connection to what the server keeps, by which `Resumed` comes.
    fn go_on(&mut self, end: Result<(), Status>) -> Result<(), RemoteError> {
        let ended = end.err().map(|status| code_and_details(&status));
        let comes_back = ended.as_ref().is_some_and(|(code, _)| {
            // A server may let the client in later; by a connection that was there, a message is too large.
            let is_full = *code == Code::ResourceExhausted && self.lost_at.is_some();
            *code == Code::Unavailable || is_full
        });
        if comes_back && !self.key.is_empty() {
            let lost_at = *self.lost_at.get_or_insert_with(|| {
                let seconds = self.server.reconnect.as_secs_f64();
                let line = format!(
                    "the connection to the server at {} is lost; trying again for {seconds} s",
                    self.address
                );
                self.server.listener.iter().for_each(|tell| tell(&line));
                Instant::now()
            });
            if lost_at.elapsed() < self.server.reconnect {
                thread::sleep(RETRY);
                return self.open_call();
            }
        }
        self.call = None;
        Err(self.ended(ended))
    }

    /// How the call ended, in a line.
    fn ended(&self, ended: Option<(Code, String)>) -> RemoteError {
        let address = self.address.to_string();
        let Some((code, details)) = ended else {
            let details = "it ended the connection".to_owned();
            return RemoteError::Lost { address, details };
        };
        let lost = |details: String| RemoteError::Lost {
            address: address.clone(),
            details,
        };
        match code {
            Code::Unavailable if !self.was_welcome => RemoteError::Absent { address, details },
            Code::Unavailable => lost(format!("it is gone ({details})")),
            Code::Cancelled => lost(
                "it ended the connection, as when it stops or a client was idle for too long"
                    .to_owned(),
            ),
            Code::Unimplemented | Code::Internal | Code::Unknown => {
                let what = self.service.what;
                let reason = format!("what answers there does not serve {what} ({details})");
                RemoteError::Refused { address, reason }
            }
            _ => RemoteError::Refused {
                address,
                reason: details,
            },
        }
    }

    /// The error of a reply that cannot be.
    pub(crate) fn broken(&self, what: &str) -> RemoteError {
        RemoteError::Broken {
            address: self.address.to_string(),
            what: what.to_owned(),
        }
    }

    fn tell(&self, line: &str) {
        self.server.listener.iter().for_each(|tell| tell(line));
    }

    /// Ends the call, and with it what the server has for this client; a second call does nothing.
    pub(crate) fn close(&mut self) {
        let Some(mut call) = self.call.take() else {
            return;
        };
        if !self.key.is_empty() {
            let leave = Request {
                id: u64::MAX,
                received: self.received,
                call: Some(Asked::Leave(Leave {})),
            };
            call.end_with(leave, GOODBYE);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}
