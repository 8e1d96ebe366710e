-- Cron expression or times of day with a time zone, as in the API; null: by interval. Other services may
-- write it, so it has no constraint: the scheduler validates it and resets an invalid value to null.
ALTER TABLE connections ADD COLUMN schedule jsonb;
