"""Stands in for vLLM's server: takes its options and calls every turn generic."""

import asyncio
import os
import sys
from pathlib import Path

from tests.support.judge_server import JudgeServer, says


async def serve(port: int) -> None:
    fake = JudgeServer(lambda _: says("generic"))
    server = await asyncio.start_server(fake.serve, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    if "--refuse-to-start" in sys.argv:
        sys.exit(3)
    Path(os.environ["VLLM_RPC_BASE_PATH"], "a-socket").touch()  # and leaves it, as vLLM's does
    asyncio.run(serve(int(sys.argv[sys.argv.index("--port") + 1])))
