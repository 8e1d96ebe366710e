-- Cron or times of day, as in the API; null: by interval. No constraint, as other services may write it: the
-- scheduler resets an invalid value to null.
ALTER TABLE connections ADD COLUMN schedule jsonb;
