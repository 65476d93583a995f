-- Who may come in: people, sessions, organisations, members, invitations, API keys.
--
-- The tables are better-auth's (core, organization and api-key plugin), as its own `compileMigrations()` gives them,
-- therefore the quoted camelCase. A test asks the library whether anything is missing, so an upgrade that wants
-- another column turns red and gets a migration of its own.
--
-- They carry no row-level security, because they are read before the organisation is known. Two roles keep them
-- apart instead: `einmal_auth`, in which better-auth works, and `einmal_office`, the server, which sees who somebody is
-- but neither a password hash nor a session.

-- Roles belong to the whole cluster: another database may have made them long ago, or be making them at this moment.
-- Whoever makes one also joins it, because the server connects by switching from its login role into this one.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'einmal_office') then
    create role einmal_office nologin;
    grant einmal_office to current_user;
  end if;
exception when duplicate_object or unique_violation then
  null;
end
$$;

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'einmal_auth') then
    create role einmal_auth nologin;
    grant einmal_auth to current_user;
  end if;
exception when duplicate_object or unique_violation then
  null;
end
$$;

create schema auth;

create table auth."user" (
  id uuid default pg_catalog.gen_random_uuid() not null primary key,
  name text not null,
  email text not null unique,
  "emailVerified" boolean not null,
  image text,
  "createdAt" timestamptz default current_timestamp not null,
  "updatedAt" timestamptz default current_timestamp not null
);

create table auth.session (
  id uuid default pg_catalog.gen_random_uuid() not null primary key,
  "expiresAt" timestamptz not null,
  token text not null unique,
  "createdAt" timestamptz default current_timestamp not null,
  "updatedAt" timestamptz not null,
  "ipAddress" text,
  "userAgent" text,
  "userId" uuid not null references auth."user" (id) on delete cascade,
  "activeOrganizationId" text
);

create index "session_userId_idx" on auth.session ("userId");

create table auth.account (
  id uuid default pg_catalog.gen_random_uuid() not null primary key,
  "accountId" text not null,
  "providerId" text not null,
  "userId" uuid not null references auth."user" (id) on delete cascade,
  "accessToken" text,
  "refreshToken" text,
  "idToken" text,
  "accessTokenExpiresAt" timestamptz,
  "refreshTokenExpiresAt" timestamptz,
  scope text,
  password text,
  "createdAt" timestamptz default current_timestamp not null,
  "updatedAt" timestamptz not null
);

create index "account_userId_idx" on auth.account ("userId");

create table auth.verification (
  id uuid default pg_catalog.gen_random_uuid() not null primary key,
  identifier text not null,
  value text not null,
  "expiresAt" timestamptz not null,
  "createdAt" timestamptz default current_timestamp not null,
  "updatedAt" timestamptz default current_timestamp not null
);

create index verification_identifier_idx on auth.verification (identifier);

create table auth.organization (
  id uuid default pg_catalog.gen_random_uuid() not null primary key,
  name text not null,
  slug text not null unique,
  logo text,
  "createdAt" timestamptz not null,
  metadata text
);

create table auth.member (
  id uuid default pg_catalog.gen_random_uuid() not null primary key,
  "organizationId" uuid not null references auth.organization (id) on delete cascade,
  "userId" uuid not null references auth."user" (id) on delete cascade,
  role text not null,
  "createdAt" timestamptz not null,
  -- Ours: better-auth looks before it inserts, which two requests at once can both pass.
  -- It also answers "members of an organisation".
  constraint "member_organizationId_userId_key" unique ("organizationId", "userId")
);

create index "member_userId_idx" on auth.member ("userId");

create table auth.invitation (
  id uuid default pg_catalog.gen_random_uuid() not null primary key,
  "organizationId" uuid not null references auth.organization (id) on delete cascade,
  email text not null,
  role text,
  status text not null,
  "expiresAt" timestamptz not null,
  "createdAt" timestamptz default current_timestamp not null,
  "inviterId" uuid not null references auth."user" (id) on delete cascade
);

create index "invitation_organizationId_idx" on auth.invitation ("organizationId");
create index invitation_email_idx on auth.invitation (email);

create table auth.apikey (
  id uuid default pg_catalog.gen_random_uuid() not null primary key,
  "configId" text not null,
  name text,
  start text,
  -- The organisation the key acts for; text, because the plugin could also let a key belong to a person.
  "referenceId" text not null,
  prefix text,
  -- Only the hash of a key is stored; the key itself is shown once. Unique is ours: it makes the look-up one row.
  key text not null unique,
  "refillInterval" integer,
  "refillAmount" integer,
  "lastRefillAt" timestamptz,
  enabled boolean,
  "rateLimitEnabled" boolean,
  "rateLimitTimeWindow" integer,
  "rateLimitMax" integer,
  "requestCount" integer,
  remaining integer,
  "lastRequest" timestamptz,
  "expiresAt" timestamptz,
  "createdAt" timestamptz not null,
  "updatedAt" timestamptz not null,
  permissions text,
  metadata text
);

create index "apikey_referenceId_idx" on auth.apikey ("referenceId");
create index "apikey_configId_idx" on auth.apikey ("configId");

grant usage on schema auth to einmal_auth, einmal_office;

grant select, insert, update, delete on all tables in schema auth to einmal_auth;

-- Column by column, so that a column better-auth adds one day is closed until somebody opens it.
grant select (id, name, email) on auth."user" to einmal_office;
grant select (id, name, slug) on auth.organization to einmal_office;
grant select (id, "organizationId", "userId", role) on auth.member to einmal_office;
grant select (id, name, key, "referenceId", enabled, "expiresAt", permissions) on auth.apikey to einmal_office;
