-- An authorization is bound to the browser that continues to the provider. `state` is the hash of the link that leads to
-- the consent page. Continuing from there stores the hash of the state that the provider brings back, and of a secret that
-- only that browser has.
ALTER TABLE authorizations
  ADD COLUMN provider_state bytea CONSTRAINT authorizations_provider_state_key UNIQUE,
  ADD COLUMN browser bytea;
