"""Ask servers over HTTP: one client, one pace and one budget for all.

account_files.py: accounts as they are on disk, each written by one process.
api_keys.py: keys of endpoints, read from the environment and kept out of every file.
budget.py: counts every request before it is sent and stops at the cap.
http_client.py: one request to an OpenAI-compatible API, with retries.
http_errors.py: what an endpoint's error means: asked again, unscored, or an error.
model_names.py: whether the model that answered is the one that was requested.
rate_limit.py: how many requests may be in flight: more while latency holds, fewer on 429.
response_body.py: the JSON of a response, and texts that can be written.
usage.py: tokens and cost of requests.
"""
