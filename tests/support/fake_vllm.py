"""Stands in for vLLM's server: takes its options and calls every turn generic.

With `--end-at N` it ends in the middle of its Nth question, without a reply.
"""

import asyncio
import os
import sys
from pathlib import Path

from tests.support.judge_server import Asked, JudgeServer, says


def answer(asked: Asked) -> bytes:
    """Return the reply to a request, or end."""
    if "--end-at" in sys.argv and asked.number == int(sys.argv[sys.argv.index("--end-at") + 1]):
        os._exit(9)
    return says("generic")


async def serve(port: int) -> None:
    fake = JudgeServer(answer)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    if "--refuse-to-start" in sys.argv:
        sys.exit(3)
    Path(os.environ["VLLM_RPC_BASE_PATH"], "a-socket").touch()  # and leaves it, as vLLM's does
    asyncio.run(serve(int(sys.argv[sys.argv.index("--port") + 1])))
