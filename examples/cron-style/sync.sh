#!/bin/sh
# What cron runs, every minute. Overlapping runs are safe: they lock connections and claim jobs in the database.
set -e
syncline tick          # queue a job for each connection that is due
syncline work --drain  # run the due jobs and their follow-ups, then exit
