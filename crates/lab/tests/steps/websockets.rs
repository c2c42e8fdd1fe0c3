//! The library `websockets` of Python as it comes from Debian, with a server of its own.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Does what a message asks for, and otherwise sends it back. Prints its port, and the code with
/// which each connection was closed.
const PROGRAM: &str = r#"
import asyncio, json, ssl, sys, websockets

async def answer(socket, message):
    if message == "headers":
        await socket.send(json.dumps(dict(socket.request_headers.items())))
    elif message == "parts":
        await socket.send(["on", "", "e mess", "age"])
    elif message == "ping":
        await asyncio.wait_for(await socket.ping(b"there?"), 120)
        await socket.send("a pong came")
    elif message == "noise":
        for text in ["one", "two", "wanted", "three"]:
            await socket.send(text)
    elif message == "flood":
        for number in range(3000):
            await socket.send("%d %s" % (number, "x" * 1000))
    elif message == "close":
        await socket.close(4000, "as you wish")
    elif message != "silence":
        await socket.send(message)

async def serve(socket, path):
    try:
        async for message in socket:
            await answer(socket, message)
    except websockets.exceptions.ConnectionClosed:
        pass
    print("closed", socket.close_code, flush=True)

async def main():
    context = None
    if len(sys.argv) > 1:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
    server = websockets.serve(serve, "127.0.0.1", 0, ssl=context, subprotocols=["b"],
                              ping_interval=None)
    async with server as listening:
        print(listening.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()

asyncio.run(main())
"#;

pub struct WebSockets {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    port: u16,
}

impl WebSockets {
    /// One on a port of its own, behind TLS if there are a certificate and its key.
    pub fn start(identity: &[&Path]) -> Self {
        let mut process = Command::new("/usr/bin/python3")
            .args(["-c", PROGRAM])
            .args(identity)
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python runs; scripts/setup.sh python3-websockets installs it");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first = lines.next().and_then(Result::ok);
        let port = first.and_then(|line| line.parse().ok());
        let port =
            port.expect("it listens; scripts/setup.sh python3-websockets installs what it uses");
        Self { process, lines, port }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    pub fn tls_url(&self) -> String {
        format!("https://localhost:{}/", self.port)
    }

    /// What it prints next.
    pub fn said(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for WebSockets {
    fn drop(&mut self) {
        // It may have ended by itself, and the test has said so.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
