"""Check every artifact, its provenance and the chain between them."""

import sys

from userturn.audit.audit_command import run_audit
from userturn.audit.check_reruns import Samples, fresh_nonce
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    sys.exit(run_audit("results", "results/audit", Samples(nonce=fresh_nonce())))
