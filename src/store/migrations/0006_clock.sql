-- How far the clock of a process was ahead of the database's when it last wrote its row; negative: behind.
ALTER TABLE processes ADD COLUMN clock_skew_seconds integer NOT NULL DEFAULT 0;
ALTER TABLE schedulers ADD COLUMN clock_skew_seconds integer NOT NULL DEFAULT 0;
