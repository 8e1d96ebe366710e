#!/bin/sh
set -e
# Replaces durations, which differ between runs.
print() { echo "$1" | sed -E 's/ in [0-9]+ ms//'; }

syncline migrate > /dev/null
syncline connections add --provider tracker --tenant-name Northwind --interval 900 > /dev/null

output=$(sh sync.sh)
print "$output"

# A minute later nothing is due: the next run follows after the interval of 15 minutes.
output=$(sh sync.sh)
print "$output"
