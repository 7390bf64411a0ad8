"""Clients that send nothing but hostile grammars, as a program of their own: see `campaign`.

    python -m tests.integration.server.attackers ADDRESS --clients 2 --seconds 30 --seed 1

Prints a line when it is ready, and begins when it gets one. Its last line is JSON: what became of the requests, and
what was wrong with that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from support.openai_requests import Campaign


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.integration.server.attackers")
    parser.add_argument("address")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    campaign = Campaign(given.address, given.seed)
    print("ready", flush=True)
    sys.stdin.readline()
    asyncio.run(campaign.attacks(given.seconds, given.clients))
    print(json.dumps({"counts": campaign.counts, "wrong": campaign.wrong}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
