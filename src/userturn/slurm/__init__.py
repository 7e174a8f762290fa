"""Resources of jobs, and the doctor that checks a cluster."""
