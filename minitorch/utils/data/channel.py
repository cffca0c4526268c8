"""Messages between the loader and one worker: frames over a socket pair, with file descriptors riding along.

A frame is its length, the number of descriptors, and the bytes. No queues, locks, semaphores or threads: nothing that a
process killed in the middle of an operation could leave locked, and nothing with a name that it could leave behind.

- The worker's end blocks. When its peer is gone, it reads the end of the stream (or fails to write), and it ends too.
- The loader's end never blocks: `post` keeps what the socket does not take at once, `flush` tries again, `receive`
  gives the complete messages that have arrived. Two ends that both blocked in writing would wait for each other for
  ever.
"""

import os
import socket
import struct
import weakref
from collections import deque

HEADER = struct.Struct("<QB")  # length of the message, number of file descriptors (0 or 1)
CHUNK = 1 << 16

# A forked child inherits every descriptor, also those of loaders it has nothing to do with. A worker learns that its
# loader is gone by the end of the stream, which comes when the *last* copy of the loader's end is closed: so a child
# closes the copies it got.
_loader_ends: weakref.WeakSet = weakref.WeakSet()


def _close_inherited() -> None:
    for end in list(_loader_ends):
        end.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


def pair() -> tuple["Channel", socket.socket]:
    """The loader's channel, and the socket to hand to the worker (which makes its own channel of it)."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    channel = Channel(ours)
    _loader_ends.add(channel)
    return channel, theirs


class Channel:
    def __init__(self, sock: socket.socket):
        self.sock = sock
        self._arrived = bytearray()  # the beginning of a frame
        self._descriptors: deque[int] = deque()
        self._unsent = bytearray()
        self.ended = False  # the peer has closed its end, or died

    def fileno(self) -> int:
        return self.sock.fileno()

    def close(self) -> None:
        self.sock.close()
        while self._descriptors:
            os.close(self._descriptors.popleft())

    # -- the loader's side

    @property
    def unsent(self) -> bool:
        return bool(self._unsent)

    def post(self, message: bytes) -> None:
        self._unsent += HEADER.pack(len(message), 0) + message
        self.flush()

    def flush(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self.sock.send(self._unsent)]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            self.ended = True  # and reading will say so too; what the worker wrote before it died is still there
            self._unsent.clear()

    def receive(self) -> list[tuple[bytes, int | None]]:
        """The messages that have arrived, each with its file descriptor or None; sets `ended` at the end."""
        messages = []
        while self._read_some():
            while (message := self._next_frame()) is not None:
                messages.append(message)
        return messages

    # -- the worker's side

    def send(self, message: bytes, descriptor: int | None = None) -> None:
        data = memoryview(HEADER.pack(len(message), descriptor is not None) + message)
        if descriptor is not None:
            data = data[socket.send_fds(self.sock, [data], [descriptor]) :]
        self.sock.sendall(data)

    def wait(self) -> bytes:
        """The next message. Raises EOFError when the loader is gone."""
        while (message := self._next_frame()) is None:
            if not self._read_some():
                raise EOFError
        return message[0]

    # -- both

    def _read_some(self) -> bool:
        try:
            if hasattr(socket, "recv_fds"):
                data, descriptors, flags, _ = socket.recv_fds(self.sock, CHUNK, 4)
                self._descriptors.extend(descriptors)
                if flags & socket.MSG_CTRUNC:
                    raise RuntimeError(
                        "Too many open files. Communication with the workers is no longer possible. "
                        "Please increase the limit using `ulimit -n` in the shell"
                    )
            else:
                data = self.sock.recv(CHUNK)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self.ended = True
            return False
        self._arrived += data
        return True

    def _next_frame(self) -> tuple[bytes, int | None] | None:
        if len(self._arrived) < HEADER.size:
            return None
        length, descriptors = HEADER.unpack_from(self._arrived)
        end = HEADER.size + length
        if len(self._arrived) < end:
            return None
        message = bytes(self._arrived[HEADER.size : end])
        del self._arrived[:end]
        return message, self._descriptors.popleft() if descriptors else None
