"""The protocol between Python and the browser: panels are sent as sections, in few small numbered messages.

A *section* is the data of one panel under its name. Python computes every section; the browser only draws. A
message carries the sections that changed. There are at most ten messages a second, of 256 KB each. A message has a
number, and the number that its receiver must have received before. A browser that missed one sends `hello` with
the last number it has, and gets every section that changed since then: a reload, a second page or a dropped
message loses nothing.

One thread publishes. All other threads (a listener on the thread of the engine, the handler of a browser message)
only set a flag and return. What a user waits for comes first: it stops the rendering in progress, and is rendered from
the events that were read before; new events follow. Changes are messages, not traits: a trait that one thread writes
while another thread sets the state loses updates without an error.

    engine --notify()> |         |
    browser -hello()-> | Publisher --send(message)--> browser
    command -reply()-> |         |
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from prism_explore.support.thread_switches import quick_switches, uninterrupted

Sections: TypeAlias = Mapping[str, object]
"""Per section name, JSON-ready data."""
Message: TypeAlias = dict[str, Any]

PERIOD_S = 0.1
"""Shortest time between two messages; a Jupyter server drops messages that arrive much faster."""
MESSAGE_BYTES = 256 * 1024
"""Largest size of one message."""
MAX_PUBLISHING_SHARE = 0.2
"""Largest share of the time that publishing may take, because the engine runs in the same interpreter."""
SNAPSHOT_BYTES = 140 * 1024
"""Largest size of the snapshot in the notebook; later sections that do not fit are left out."""
IDLE_S = 1.0
"""Time without a change after which a snapshot is stored in the notebook."""

_ENVELOPE_BYTES = 512

log = logging.getLogger(__name__)


Extent: TypeAlias = Literal["asked", "shown", "all"]
"""What to render: what a user waits for, without reading new events; the panels that are shown; or all panels."""


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """What to render, and whether it is still wanted."""

    extent: Extent = "all"
    is_stopped: Callable[[], bool] = lambda: False
    """Whether something else is more urgent. Then the result is None."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The JSON text of a section, or a part of a long one."""

    section: str
    index: int
    of: int
    text: str

    @property
    def size(self) -> int:
        """Size in a message, with the quotes of the text escaped. Units: bytes."""
        return _wire_bytes(self.text) + len(self.section) + 64


def _wire_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def split_section(section: str, text: str, limit: int = MESSAGE_BYTES) -> tuple[Chunk, ...]:
    """Split the text of a section into chunks, each small enough for one message."""
    room = limit - _ENVELOPE_BYTES - len(section) - 64

    def halves(part: str) -> Iterator[str]:
        if _wire_bytes(part) <= room:
            yield part
        else:
            middle = len(part) // 2
            yield from halves(part[:middle])
            yield from halves(part[middle:])

    parts = tuple(halves(text))
    return tuple(Chunk(section, i, len(parts), part) for i, part in enumerate(parts))


@dataclass(slots=True)
class Outbox:
    """The current sections, and the messages that send them."""

    limit: int = MESSAGE_BYTES
    seq: int = 0
    """Number of the last message."""
    _payloads: dict[str, object] = field(default_factory=dict[str, object])
    _texts: dict[str, str] = field(default_factory=dict[str, str])
    _sent_with: dict[str, int] = field(default_factory=dict[str, int])
    """Per section, the number of the message that sent it last."""

    def store(self, sections: Sections) -> tuple[str, ...]:
        """Store the texts of the sections; return the names of those that changed.

        The same object as last time is not written again, so it must not have changed.
        """
        changed: list[str] = []
        for name, payload in sections.items():
            if name in self._payloads and self._payloads[name] is payload:
                continue
            self._payloads[name] = payload
            text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            if self._texts.get(name) != text:
                self._texts[name] = text
                changed.append(name)
        return tuple(changed)

    def since(self, have: int) -> tuple[str, ...]:
        """Names of the sections that changed after message `have`."""
        return tuple(n for n in self._texts if have > self.seq or self._sent_with.get(n, self.seq + 1) > have)

    def messages(
        self, names: tuple[str, ...], after: int | None = None, replies: tuple[Message, ...] = ()
    ) -> list[Message]:
        """Make the messages that send these sections.

        Args:
            names: the sections.
            after: number of the message that the receiver must have; by default the last one.
            replies: replies to commands, sent with the first message.
        """
        batches: list[list[Chunk]] = [[]]
        size = 0
        for chunk in (p for name in names for p in split_section(name, self._texts[name], self.limit)):
            if batches[-1] and size + chunk.size > self.limit - _ENVELOPE_BYTES:
                batches.append([])
                size = 0
            batches[-1].append(chunk)
            size += chunk.size
        out: list[Message] = []
        for batch in batches:
            needed = self.seq if after is None or out else after
            self.seq += 1
            for chunk in batch:
                self._sent_with[chunk.section] = self.seq
            out.append({
                "kind": "sections",
                "seq": self.seq,
                "after": needed,
                "chunks": [[p.section, p.index, p.of, p.text] for p in batch],
                "replies": list(replies) if not out else [],
            })  # fmt: skip
        return out

    def snapshot(self, limit: int = SNAPSHOT_BYTES) -> dict[str, Any]:
        """The current sections in their order, and the names of those that did not fit."""
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
    """The thread that computes the sections and sends them.

    Nothing is computed before `start` or the first `hello`, so a session that is not shown costs nothing.

    Args:
        render: computes sections; called on the publisher thread, and once by `start`. Sections that are not shown are
            computed when nothing has changed for `idle_s`.
        send: sends one message; called on the publisher thread, and by `start`.
        save_snapshot: stores a snapshot; called when nothing changed for `idle_s`.
        period_s: shortest time between two messages.
        idle_s: time without a change after which a snapshot is stored.
    """

    def __init__(
        self,
        render: Callable[[RenderRequest], Sections | None],
        send: Callable[[Message], None],
        save_snapshot: Callable[[dict[str, Any]], None] = lambda _: None,
        period_s: float = PERIOD_S,
        idle_s: float = IDLE_S,
    ) -> None:
        self._render, self._send, self._save_snapshot = render, send, save_snapshot
        self._period_s, self._idle_s = period_s, idle_s
        self._outbox = Outbox()
        self._lock = threading.Lock()
        self._hellos: list[int] = []
        self._replies: list[Message] = []
        self._wake = threading.Event()
        self._awaited = threading.Event()
        """Set if a user waits for the next message."""
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def notify(self) -> None:
        """Report that something changed. Callable on any thread; returns at once."""
        self._wake.set()

    def notify_awaited(self) -> None:
        """Report a change that a user waits for: it is sent at once. Callable on any thread; returns at once."""
        self._wake.set()
        self._awaited.set()

    def start(self, send_all: bool = False) -> None:
        """Store a first snapshot and start to publish; a second call has no effect.

        Args:
            send_all: whether browsers wait for all sections; otherwise each requests with `hello` what it lacks.
        """
        with self._lock:
            if self._thread is not None or self._closed.is_set():
                return
            # A browser that draws a whole snapshot has the first messages.
            messages = self._outbox.messages(self._outbox.store(self._sections(RenderRequest()) or {}))
            for message in messages if send_all else ():
                self._send(message)
            self._save_snapshot(self._outbox.snapshot())
            self._thread = threading.Thread(target=self._loop, name="prism-publisher", daemon=True)
            self._thread.start()

    def hello(self, have: int) -> None:
        """Send a browser all that changed after message `have`. Callable on any thread; returns at once."""
        with self._lock:
            self._hellos.append(have)
        self.start()
        self.notify_awaited()

    def reply(self, reply: Message) -> None:
        """Send a reply to a command with the next message. Callable on any thread; returns at once."""
        with self._lock:
            self._replies.append(reply)
        self.notify_awaited()

    def close(self) -> None:
        """Stop publishing, and wait until the thread has ended."""
        with self._lock:
            self._closed.set()
            thread = self._thread
        self.notify_awaited()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)

    def publish(self, request: RenderRequest) -> int | None:
        """Compute sections and send the changes; the number of messages, None if it was stopped. Not thread-safe."""
        with self._lock:
            hellos, self._hellos = self._hellos, []
            replies, self._replies = self._replies, []
        with uninterrupted() if request.extent == "asked" else nullcontext():
            sections = self._sections(request)
            changed = () if sections is None else self._outbox.store(sections)
        if sections is None:
            with self._lock:
                self._hellos, self._replies = hellos + self._hellos, replies + self._replies
            return None
        messages: list[Message] = []
        if hellos and min(hellos) != self._outbox.seq:
            oldest = min(hellos)
            missing = dict.fromkeys((*self._outbox.since(oldest), *changed))
            messages = self._outbox.messages(tuple(missing), min(oldest, self._outbox.seq), tuple(replies))
        elif changed or replies or hellos:
            messages = self._outbox.messages(changed, None, tuple(replies))
        for number, message in enumerate(messages):
            if number and self._closed.wait(self._period_s):
                break
            self._send(message)
        return len(messages)

    def _sections(self, request: RenderRequest) -> Sections | None:
        try:
            rendered = self._render(request)
            return None if rendered is None else {"error": None, **rendered}
        except Exception as error:
            log.exception("a section could not be computed")
            return {"error": f"The panels could not be updated: {type(error).__name__}: {error}"}

    def _loop(self) -> None:
        with quick_switches():
            self._publish_until_closed()

    def _publish_until_closed(self) -> None:
        unsaved = False
        while not self._closed.is_set():
            if not self._wake.wait(self._idle_s if unsaved else None):
                if self._publish_safely("all") is not None:
                    unsaved = False
                    self._save_snapshot(self._outbox.snapshot())
                continue
            self._wake.clear()
            extent: Extent = "asked" if self._awaited.is_set() else "shown"
            self._awaited.clear()
            if self._closed.is_set():
                return
            start_s = time.monotonic()
            sent = self._publish_safely(extent)
            unsaved |= sent != 0
            if extent == "asked" or sent is None:
                self._wake.set()  # new events come next
            took_s = time.monotonic() - start_s
            self._awaited.wait(max(self._period_s, took_s * (1 - MAX_PUBLISHING_SHARE) / MAX_PUBLISHING_SHARE))

    def _publish_safely(self, extent: Extent) -> int | None:
        is_urgent = extent == "asked"
        try:
            return self.publish(RenderRequest(extent, (lambda: False) if is_urgent else self._awaited.is_set))
        except Exception:
            log.exception("a message to the browser could not be sent")
            return 0
