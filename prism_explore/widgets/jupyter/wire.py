"""The wire to the browser: sections of a picture, sent whole, in few small numbered messages.

A *section* is one panel's data under a name. Python computes every section; the browser only draws.
What changed since the last message is sent, at most ten messages a second and 256 KB each, each with
its number and the number that a receiver must have before it. A browser that missed something says
`hello` with the number it has, and gets every section that changed since. So nothing is ever lost for
long: not on a reload, not with a second page, not when a message is dropped.

One thread publishes. Everything else (a listener on the engine's thread, a message from the browser on
whatever thread the kernel chose) only leaves a note for it and returns. Deltas are messages, not traits:
a trait written by one thread while another thread sets state silently loses updates.

    engine --mark()--> |         |
    browser -hello()-> | Publisher --send(message)--> browser
    command -reply()-> |         |
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Sections: TypeAlias = Mapping[str, object]
"""JSON-ready data per panel."""
Message: TypeAlias = dict[str, Any]

PERIOD_S = 0.1
"""Least time between two messages; a Jupyter server drops what comes much faster."""
MESSAGE_BYTES = 256 * 1024
"""Most bytes of one message."""
SHARE = 0.2
"""Most of the time that publishing may take from the engine, which shares the interpreter with it."""
SNAPSHOT_BYTES = 140 * 1024
"""Most bytes of the picture that is kept in the notebook; what does not fit in the order of sections is left out."""
SETTLED_S = 1.0
"""How long nothing must change before the picture is kept in the notebook."""

_ENVELOPE_BYTES = 512

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Piece:
    """A section's JSON text, or one of the parts that a long one was cut into."""

    section: str
    index: int
    of: int
    text: str

    @property
    def size(self) -> int:
        """Bytes on the wire, with the text's quotes escaped."""
        return _wire_bytes(self.text) + len(self.section) + 64


def _wire_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def cut(section: str, text: str, limit: int = MESSAGE_BYTES) -> tuple[Piece, ...]:
    """The pieces that carry a section, each small enough for one message."""
    room = limit - _ENVELOPE_BYTES - len(section) - 64

    def halves(part: str) -> Iterator[str]:
        if _wire_bytes(part) <= room:
            yield part
        else:
            middle = len(part) // 2
            yield from halves(part[:middle])
            yield from halves(part[middle:])

    parts = tuple(halves(text))
    return tuple(Piece(section, i, len(parts), part) for i, part in enumerate(parts))


@dataclass(slots=True)
class Outbox:
    """What the browser was told, and the messages that bring it up to date."""

    limit: int = MESSAGE_BYTES
    seq: int = 0
    """Number of the last message."""
    _texts: dict[str, str] = field(default_factory=dict[str, str])
    _told: dict[str, int] = field(default_factory=dict[str, int])
    """Per section, the message that completed it last."""

    def take(self, sections: Sections) -> tuple[str, ...]:
        """Keep the sections' new texts; gives the names of those that changed."""
        changed: list[str] = []
        for name, payload in sections.items():
            text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            if self._texts.get(name) != text:
                self._texts[name] = text
                changed.append(name)
        return tuple(changed)

    def since(self, have: int) -> tuple[str, ...]:
        """Names of the sections that a browser which has message `have` lacks."""
        return tuple(n for n in self._texts if have > self.seq or self._told.get(n, self.seq + 1) > have)

    def messages(
        self, names: tuple[str, ...], after: int | None = None, replies: tuple[Message, ...] = ()
    ) -> list[Message]:
        """Messages that carry these sections.

        Args:
            names: sections to send.
            after: what a receiver must have already; the last message when not given.
            replies: answers to commands, sent along with the first message.
        """
        batches: list[list[Piece]] = [[]]
        size = 0
        for piece in (p for name in names for p in cut(name, self._texts[name], self.limit)):
            if batches[-1] and size + piece.size > self.limit - _ENVELOPE_BYTES:
                batches.append([])
                size = 0
            batches[-1].append(piece)
            size += piece.size
        out: list[Message] = []
        for batch in batches:
            needed = self.seq if after is None or out else after
            self.seq += 1
            for piece in batch:
                self._told[piece.section] = self.seq
            out.append({
                "kind": "sections",
                "seq": self.seq,
                "after": needed,
                "pieces": [[p.section, p.index, p.of, p.text] for p in batch],
                "replies": list(replies) if not out else [],
            })  # fmt: skip
        return out

    def snapshot(self, limit: int = SNAPSHOT_BYTES) -> dict[str, Any]:
        """The picture as it is, sections in their order, and the names of those that had no room."""
        texts: dict[str, str] = {}
        left_out: list[str] = []
        size = 0
        for name, text in self._texts.items():
            more = _wire_bytes(text)
            if size + more <= limit:
                texts[name] = text
                size += more
            else:
                left_out.append(name)
        return {"seq": self.seq, "texts": texts, "left_out": left_out}


class Publisher:
    """The one thread that computes sections and sends them.

    Args:
        render: computes all sections; called on the publisher's thread only.
        send: takes one message; called by the publisher's thread only.
        keep: takes a snapshot when the picture has settled.
        clock: seconds.
        period_s: least time between two messages.

    Nothing is computed before `start` or the first `hello`: a session that nobody looks at pays nothing.
    """

    def __init__(
        self,
        render: Callable[[], Sections],
        send: Callable[[Message], None],
        keep: Callable[[dict[str, Any]], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        period_s: float = PERIOD_S,
        settled_s: float = SETTLED_S,
    ) -> None:
        self._render, self._send, self._keep, self._clock = render, send, keep, clock
        self._period_s, self._settled_s = period_s, settled_s
        self._outbox = Outbox()
        self._lock = threading.Lock()
        self._hellos: list[int] = []
        self._replies: list[Message] = []
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def mark(self) -> None:
        """Say that something changed. Any thread; returns at once."""
        self._wake.set()

    def start(self) -> None:
        """Keep a first picture, and begin to publish; without effect the second time."""
        with self._lock:
            if self._thread is not None or self._closed.is_set():
                return
            # The first message travels as the kept picture; a browser that draws it has it.
            self._outbox.messages(self._outbox.take(self._sections()))
            self._keep(self._outbox.snapshot())
            self._thread = threading.Thread(target=self._loop, name="prism-publisher", daemon=True)
            self._thread.start()

    def hello(self, have: int) -> None:
        """A browser has message `have` and asks for the rest. Any thread; returns at once."""
        with self._lock:
            self._hellos.append(have)
        self.start()
        self._wake.set()

    def reply(self, answer: Message) -> None:
        """Answer a command, with the next message. Any thread; returns at once."""
        with self._lock:
            self._replies.append(answer)
        self._wake.set()

    def close(self) -> None:
        """Stop publishing; waits until the thread has ended."""
        with self._lock:
            self._closed.set()
            thread = self._thread
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)

    def publish(self) -> int:
        """Compute, and send what is owed; gives the number of messages. Only one thread may call this."""
        with self._lock:
            hellos, self._hellos = self._hellos, []
            replies, self._replies = tuple(self._replies), []
        changed = self._outbox.take(self._sections())
        messages: list[Message] = []
        if hellos and min(hellos) != self._outbox.seq:
            oldest = min(hellos)
            lacking = dict.fromkeys((*self._outbox.since(oldest), *changed))
            messages = self._outbox.messages(tuple(lacking), min(oldest, self._outbox.seq), replies)
        elif changed or replies or hellos:
            messages = self._outbox.messages(changed, None, replies)
        for number, message in enumerate(messages):
            if number and self._closed.wait(self._period_s):
                break
            self._send(message)
        return len(messages)

    def _sections(self) -> Sections:
        try:
            return {"trouble": None, **self._render()}
        except Exception as error:
            log.exception("a section could not be computed")
            return {"trouble": f"The picture could not be brought up to date: {type(error).__name__}: {error}"}

    def _loop(self) -> None:
        unsaved = False
        while not self._closed.is_set():
            if not self._wake.wait(self._settled_s if unsaved else None):
                unsaved = False
                self._keep(self._outbox.snapshot())
                continue
            self._wake.clear()
            if self._closed.is_set():
                return
            began = self._clock()
            try:
                unsaved |= self.publish() > 0
            except Exception:
                log.exception("a message to the browser could not be sent")
            took = self._clock() - began
            self._closed.wait(max(self._period_s, took * (1 - SHARE) / SHARE))
