"""Ask servers over HTTP: one client, one pace and one budget for all.

api_keys.py: keys of endpoints, read from the environment and kept out of every file.
budget.py: counts every request before it is sent and stops at the cap.
concurrency.py: how many requests may be in flight.
corrections.py: what users say that a judge cost, with their reasons.
http_client.py: one request to an OpenAI-compatible API, with retries.
http_replies.py: what a reply means: its body, its errors, and who answered.
hub_errors.py: why the hub does not give a model or a dataset.
usage.py: tokens and cost of requests.
"""
