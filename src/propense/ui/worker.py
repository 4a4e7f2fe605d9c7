"""The program of a worker process: it takes tasks as lines of JSON, and answers in lines of JSON.

A table from outside is read here and not in the server: whatever it does to this process, the server goes on. The
process ends when its standard input does, so that none outlives a server that is killed.
"""

import json
import os
import queue
import sys
import threading
import traceback
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Answer tasks until standard input ends."""
    # What libraries print must not be taken for an answer.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tasks: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()

    def answer(**words: Any) -> None:
        out.write(json.dumps(words) + "\n")
        out.flush()

    from propense.errors import PropenseError
    from propense.ui.tasks import TASKS

    while True:
        request = json.loads(tasks.get())
        try:
            done = TASKS[request["task"]](lambda *step: answer(step=step), **request["arguments"])
        except PropenseError as error:
            answer(error=str(error))
        except MemoryError:
            answer(error="There is not enough memory on this machine for the table. Leave out columns or rows.")
        except Exception:
            traceback.print_exc()
            answer(fault=traceback.format_exc(limit=0).strip().splitlines()[-1][:200])
        else:
            answer(done=done)


def _listen(tasks: "queue.Queue[str]") -> None:
    for line in sys.stdin:
        tasks.put(line)
    # The server has gone, or wants this process to go. Whatever is being done is not wanted any more.
    os._exit(0)


if __name__ == "__main__":
    main()
