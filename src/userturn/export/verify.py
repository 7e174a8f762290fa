"""`VERIFY.md` of an archive: its digest and three numbers by standard tools, without userturn."""

VERIFY = "VERIFY.md"
TEXT = """# Verify without userturn

In the unpacked archive. The digest of the study's artifacts and of how each was made from which,
with Python's standard library alone; it must be the one that `userturn audit` prints and that the
authors published:

```python
import hashlib, json
from pathlib import Path
of_a_run = ("results/checkpoints/", "results/leases/", "results/sweeps/", "results/judging/")
lasting = lambda named: {{p: h for p, h in named.items() if not p.startswith(of_a_run)}}
sha256 = lambda path: hashlib.sha256(Path(path).read_bytes()).hexdigest()
listed = json.loads(Path("left_out.json").read_text())["files"]
left_out = {{file["path"]: file["sha256"] for file in listed}}
places = Path("results/provenance").rglob("*.json")
records = {{place.as_posix(): json.loads(place.read_bytes()) for place in places}}
made = lasting({{p: "" for r in records.values() for p in [*r["outputs"], *r["beside"]]}})
there = {{p: sha256(p) for p in made if Path(p).is_file()}}
artifacts = {{p: h for p, h in left_out.items() if p in made}} | there
named = ("schema_version", "rule", "wildcards", "identity")
files = ("inputs", "outputs")
jobs = {{path: {{k: r[k] for k in named}} | {{k: lasting(r[k]) for k in files}}
        for path, r in records.items()}}
text = json.dumps({{"artifacts": artifacts, "records": jobs}}, sort_keys=True,
                  separators=(",", ":"), ensure_ascii=False)
print(hashlib.sha256(text.encode()).hexdigest())
```

Three numbers of the tables, counted in DuckDB from the rows that this archive has (those of private
datasets are not here). Rates of genuine follow-ups, by cell, as in `results/tables/rates.csv`:

```sql
SELECT model, dataset, temperature, perturbation,
       AVG(CAST(genuine AS INTEGER)) AS rate, COUNT(genuine) AS n_scored
FROM read_parquet('results/cells/*/*/*/*/verdicts/{judge}.parquet')
GROUP BY model, dataset, temperature, perturbation
```

Turns that have no label, by reason:

```sql
SELECT model, unscored_reason, COUNT(*) AS n_turns
FROM read_parquet('results/cells/*/*/*/*/verdicts/{judge}.parquet')
WHERE genuine IS NULL GROUP BY model, unscored_reason
```

Right answers, as in `results/tables/accuracy.csv`:

```sql
SELECT model, dataset, AVG(CAST(correct AS INTEGER)) AS accuracy, COUNT(correct) AS n_graded
FROM read_parquet('results/grades/*/*.parquet')
GROUP BY model, dataset
```
"""


def verify_text(judge: str) -> str:
    """Return the text of `VERIFY.md` for a study with a primary judge."""
    return TEXT.format(judge=judge)
