-- No transaction: it would keep the row locks of all batches.
CALL fill_connection_lookup();
ANALYZE connection_lookup;
