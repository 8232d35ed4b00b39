"""A child of the reader whose work does what a picture's octets say: the ways in which decoding a
stranger's file can end.
"""

import os
import signal
import socket
import sys
import time
from pathlib import Path

import msgspec

from oborona.daemon.reader.child import ChildOrders, ChildWork, run_child
from oborona.daemon.reader.wire import PictureContent


def prepare(orders: ChildOrders) -> ChildWork:
    if orders.languages == "none":
        raise RuntimeError("no such language")
    return work


def work(octets: bytes) -> PictureContent:
    what, _, argument = octets.decode().partition(" ")
    match what:
        case "hang":
            time.sleep(60)
        case "spin":
            while True:
                pass
        case "pause":
            time.sleep(float(argument))
        case "eat":
            held = [bytearray(1 << 20) for _ in range(int(argument))]
            return PictureContent(text=f"{len(held)} MiB")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)  # confined, it may not even do that
        case "crash":
            os.abort()
        case "bug":
            raise ValueError("a bug")
        case "open":
            return PictureContent(text=_tried(lambda: Path("/etc/hostname").read_text()))
        case "write":
            return PictureContent(text=_tried(lambda: Path(argument).write_text("x")))
        case "connect":
            return PictureContent(text=_tried(socket.socket))
        case "fork":
            return PictureContent(text=_tried(os.fork))
        case "signal":
            return PictureContent(text=_tried(lambda: os.kill(int(argument), 0)))
    return PictureContent(
        text=(
            f"{what} {os.getpid()} {os.getpriority(os.PRIO_PROCESS, 0) if what == 'nice' else ''}"
        ).strip()
    )


def _tried(act: object) -> str:
    try:
        act()  # type: ignore[operator]
    except OSError as error:
        return type(error).__name__
    return "done"


if __name__ == "__main__":
    with socket.socket(fileno=0) as channel:
        os._exit(run_child(msgspec.json.decode(sys.argv[1], type=ChildOrders), channel, prepare))
