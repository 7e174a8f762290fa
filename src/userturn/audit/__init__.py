"""Check a finished study: files, rows, verdicts, tables, settings, secrets; run samples again."""
