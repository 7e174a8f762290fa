"""One file a command of `userturn`, but for audit, doctor and export, which have packages."""
