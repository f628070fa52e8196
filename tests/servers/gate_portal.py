"""The real application with a real database, on its own port; no other services."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import uvicorn
from fastapi import FastAPI
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session as DbSession

from portal.app import create_app
from portal.config.settings import Settings
from portal.context import open_context
from portal.db import utcnow
from portal.models import (
    AccessToken,
    Base,
    BatchJob,
    JobState,
    Role,
    Session,
    Tensorboard,
    TensorboardState,
    User,
    WebSession,
)
from portal.server import server_config
from portal.services.auth.tokens import new_text
from portal.services.hashes import hash_token
from portal.services.slurm.launch import derive_secret
from portal.services.tensorboards.tickets import issue_ticket
from spawner.slurm.model import Resources
from tests.polling import wait_until
from tests.servers import databases
from tests.servers.nginx import GUARD_KEY, Answer, Upstream, read_answer, reply
from tests.servers.slapd import free_port

TARGET = "10.77.0.11:40123"


def gate_settings(folder: Path, **changes: Any) -> Settings:
    values: dict[str, Any] = {
        "public_url": "http://portal.test",
        "same_origin_content": not {"notebook_url", "content_url"} & changes.keys(),
        "node_url": "http://127.0.0.1:8002",
        "state_dir": folder,
        "hub_token_file": folder / "hub",
        "internal_secret_file": folder / "internal",
        "ldap_urls": ["ldaps://127.0.0.1"],
        "ldap_user_base": "dc=x",
        "runtime_dir": folder,
        "image_dir": folder,
        **changes,
    }
    return Settings(**values)


@dataclass
class Real:
    """The real application on its own port, and its database for adding rows."""

    settings: Settings
    node: Upstream
    users: dict[str, User] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return self.settings.listen_port

    def _database(self) -> DbSession:
        engine = create_engine(self.settings.database.replace("+aiosqlite", ""))
        return DbSession(engine, expire_on_commit=False)

    @contextmanager
    def rows(self) -> Iterator[DbSession]:
        with self._database() as db:
            yield db
            db.commit()
            bind = db.get_bind()
        bind.engine.dispose()

    def add_users(self) -> None:
        with self.rows() as db:
            Base.metadata.create_all(db.get_bind())
        with self.rows() as db:
            for name in ("alice", "bob", "carol"):
                role = Role.ADMIN if name == "carol" else Role.USER
                user = self.users[name] = User(username=name, role=role)
                db.add(user)
                db.flush()
                self.add_login(db, name, f"token-of-{name}")

    def add_login(self, db: DbSession, name: str, token: str, **changes: Any) -> None:
        end = utcnow() + timedelta(hours=1)
        login = {"expires_at": end, "token_hash": hash_token(token), **changes}
        db.add(WebSession(user_id=self.users[name].id, **login))

    def add_token(self, owner: str, *scopes: str, **changes: Any) -> tuple[str, str]:
        """Return the id and the text of a new access token."""
        text = new_text()
        values = {"expires_at": utcnow() + timedelta(days=1), **changes}
        row = AccessToken(
            user_id=self.users[owner].id, name=f"token {text[-6:]}", token_hash=hash_token(text),
            scopes=list(scopes), created_at=utcnow(), **values,
        )  # fmt: skip
        with self.rows() as db:
            db.add(row)
            db.flush()
            return row.id, text

    def add_session(self, owner: str = "alice", name: str = "s1", **changes: Any) -> Session:
        values: dict[str, Any] = {
            "state": JobState.RUNNING,
            "ready_at": utcnow(),
            "target_host": "10.77.0.11",
            "target_port": 40123,
            "resources": asdict(Resources()),
            "base_url": f"/user/{owner}/{name}/",
            **changes,
        }
        made = Session(user_id=self.users[owner].id, name=name, **values)
        with self.rows() as db:
            db.add(made)
        return made

    def add_answering_session(self, body: bytes) -> Session:
        """Return a session whose server answers with this body and the proof that it is it."""
        made = self.add_session(target_host="127.0.0.1", target_port=self.node.port)
        context: Any = SimpleNamespace(settings=self.settings)
        self.node.guard_key = derive_secret(context, made.id)
        self.node.answer = lambda *_: reply(body=body)
        return made

    def add_job(self, owner: str = "alice", job_id: int = 4711, **changes: Any) -> BatchJob:
        values: dict[str, Any] = {
            "job_id": job_id,
            "state": JobState.RUNNING,
            "node": "node01",
            "resources": asdict(Resources()),
            **changes,
        }
        user_id = self.users[owner].id
        made = BatchJob(user_id=user_id, owner_id=user_id, name="train", **values)
        with self.rows() as db:
            db.add(made)
        return made

    def add_board(self, parent: Session, **changes: Any) -> Tensorboard:
        values: dict[str, Any] = {
            "state": TensorboardState.RUNNING,
            "host": "127.0.0.1",
            "port": self.node.port,
            "secret_hash": hash_token("call-home"),
            "guard_key": GUARD_KEY,
            "last_request_at": utcnow(),
            "logdir": "/home/alice/runs",
            **changes,
        }
        made = Tensorboard(parent_id=parent.id, user_id=parent.user_id, **values)
        with self.rows() as db:
            db.add(made)
        return made

    def board_at(self, board: Tensorboard, user: str = "alice") -> str:
        """Return the path at which the browser of this user's login opens a TensorBoard."""
        login = select(WebSession.id).where(WebSession.token_hash == hash_token(f"token-of-{user}"))
        with self.rows() as db:
            ticket = issue_ticket(self.settings, db.scalars(login).one(), board.id)
        return f"/tensorboard/{board.id}/{ticket}/"

    def board(self, board_id: str) -> Tensorboard:
        with self.rows() as db:
            found = db.get(Tensorboard, board_id)
            assert found is not None
            return found

    def update(self, kind: type[Any], row_id: str, **changes: Any) -> None:
        with self.rows() as db:
            row = db.get(kind, row_id)
            for name, value in changes.items():
                setattr(row, name, value)

    def ask(
        self,
        path: str,
        *,
        user: str | None = None,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> Answer:
        """Send a request directly to the portal, as nginx or a program on this host does."""
        lines = {"Host": "portal.test", "Connection": "close", **(headers or {})}
        if user:
            lines["Cookie"] = f"{self.settings.cookie_name}=token-of-{user}"
        if body:
            lines["Content-Length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
            return read_answer(connection, method)

    def gate(self, owner: str, server: str = "s1", **kwargs: Any) -> Answer:
        headers = {"X-Owner": owner, "X-Server": server, **kwargs.pop("headers", {})}
        return self.ask("/internal/gate", headers=headers, **kwargs)


@asynccontextmanager
async def only_the_context(app: FastAPI) -> AsyncIterator[None]:
    """Open the context, without the loops that ask Slurm and the hub."""
    async with open_context(app.state.settings) as app.state.context:
        yield


@contextmanager
def serving(app: FastAPI, settings: Settings) -> Iterator[None]:
    """Run uvicorn in a thread, for blocking clients."""
    server = uvicorn.Server(server_config(app, settings))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), "the portal listens")
        assert server.started
        yield
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def real_portal(folder: Path, **changes: Any) -> Iterator[Real]:
    """Run the application with these settings, the users alice, bob and carol, and a node."""
    port = free_port()
    settings = gate_settings(folder, listen_port=port, **changes)
    for file in (settings.internal_secret_file, settings.hub_token_file):
        file.touch(mode=0o600)
        file.write_text("i" * 32)
    databases.copy_empty(settings.database)
    app = create_app(settings)
    app.router.lifespan_context = only_the_context
    node = Upstream(lambda *_: reply())
    made = Real(settings, node)
    made.add_users()
    with serving(app, settings):
        yield made
    node.stop()


def problem(answer: Answer) -> dict[str, Any]:
    assert answer.one("content-type").startswith("application/problem+json")
    found: dict[str, Any] = json.loads(answer.body)
    return found
