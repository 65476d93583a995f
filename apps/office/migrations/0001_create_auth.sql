-- Who may come in: people, their passwords, second factors and sessions.
--
-- The tables are better-auth's (core and two-factor plugin), as its own `compileMigrations()` gives them, therefore the
-- quoted camelCase. A test asks the library whether anything is missing, so an upgrade that wants another column turns
-- red and gets a migration of its own.
--
-- They carry no row-level security: a person belongs to no organisation. Two roles keep them apart instead:
-- `einmal_auth`, in which people are let in, and `einmal_office`, the server, which sees what somebody is called but
-- neither a password hash nor a session. Which person belongs to which organisation is ours (0003).

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
  "updatedAt" timestamptz default current_timestamp not null,
  "twoFactorEnabled" boolean default false
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
-- Ours: what was begun by a person ends when they have a new password.
create index verification_value_idx on auth.verification (value);

create table auth."twoFactor" (
  id uuid default pg_catalog.gen_random_uuid() not null primary key,
  secret text not null,
  "backupCodes" text not null,
  "userId" uuid not null references auth."user" (id) on delete cascade,
  verified boolean default true,
  "failedVerificationCount" integer default 0,
  "lockedUntil" timestamptz
);

create index "twoFactor_secret_idx" on auth."twoFactor" (secret);
create index "twoFactor_userId_idx" on auth."twoFactor" ("userId");

-- Ours: who has tried to come in, counted before a password is looked at. A bucket is the hash of an account, of a device
-- that has been let in before, or of an address.
create table auth.sign_in_attempts (
  bucket text not null primary key,
  attempts integer not null check (attempts > 0),
  started_at timestamptz not null
);
create index sign_in_attempts_age_idx on auth.sign_in_attempts (started_at);

grant usage on schema auth to einmal_auth, einmal_office;

grant select, insert, update, delete on all tables in schema auth to einmal_auth;

-- Column by column, so that a column better-auth adds one day is closed until somebody opens it.
grant select (id, name, email, "twoFactorEnabled") on auth."user" to einmal_office;
