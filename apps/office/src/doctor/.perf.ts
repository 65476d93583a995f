import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '/work/main/apps/office/src/platform/embedded-postgres/index.ts'
import { migrate } from '/work/main/apps/office/src/platform/migrate.ts'
import { openDoctor } from '/work/main/apps/office/src/doctor/index.ts'
const dataDir = await mkdtemp('/tmp/perf-')
const server = await startEmbeddedPostgres({ dataDir, log: console.log, settings: { fsync: 'off', synchronous_commit: 'off' } })
await migrate(server.ownerUrl, '/work/main/apps/office/migrations')
const c = new pg.Client({ connectionString: server.ownerUrl }); await c.connect()
const N = Number(process.argv[2] ?? 200000)
await c.query(`set session_replication_role = replica`)
await c.query(`create function pg_temp.sid(kind integer, i bigint) returns uuid language sql immutable as $$
  select (lpad(to_hex(1750000000000 + i), 12, '0') || '7' || lpad(to_hex(kind), 3, '0') || '8000' || lpad(to_hex(i), 12, '0'))::uuid $$`)
const org = '00000000-0000-7000-8000-00000000000a'
await c.query(`insert into auth.organization (id, name, slug, "createdAt") values ($1,'A','a',now())`, [org])
const o = `'${org}'::uuid`
const g = `generate_series(1, ${N}) as i`
const t0 = performance.now()
for (const s of [
 `insert into payments (id, organization_id, source, external_id, kind, event_id, amount_minor, currency, applied_minor, invoice_reference, recorded_at) select pg_temp.sid(3,i), ${o}, 'stripe', 'pi_'||i, 'payment', pg_temp.sid(1,i), 10000,'EUR',10000,'RE-'||i, now() from ${g}`,
 `insert into events (id, organization_id, source, kind, external_id, state, holder, target_type, target_id, answer, first_arrived_at, last_arrived_at, started_at, finished_at) select pg_temp.sid(1,i), ${o}, 'stripe','payment.paid','evt_'||i,'completed',pg_temp.sid(2,i),'payment',pg_temp.sid(3,i)::text,'{"applied":[]}',now(),now(),now(),now() from ${g}`,
 `insert into allocations (id, organization_id, payment_id, invoice_id, currency, amount_minor, event_id, created_at) select pg_temp.sid(4,i), ${o}, pg_temp.sid(3,i), pg_temp.sid(8,i), 'EUR',10000,pg_temp.sid(1,i),now() from ${g}`,
 `insert into deliveries (id, organization_id, endpoint_id, source, received_at, headers, body_hash, verdict, answer_status) select pg_temp.sid(2,i), ${o}, ${o}, 'stripe', now(), '{}', sha256(convert_to(repeat('x'||i, 100),'UTF8')), 'accepted', 200 from ${g}`,
 `insert into delivery_bodies (hash, organization_id, body, first_received_at) select sha256(convert_to(repeat('x'||i, 100),'UTF8')), ${o}, convert_to(repeat('x'||i, 100),'UTF8'), now() from ${g}`,
 `insert into delivery_events select pg_temp.sid(2,i), pg_temp.sid(1,i), ${o}, 'done' from ${g}`,
 `insert into activities select pg_temp.sid(5,i), ${o}, 'invoice', pg_temp.sid(8,i), 'payment:stripe:pi_'||i, 'payment.received', pg_temp.sid(1,i), jsonb_build_object('paymentId', pg_temp.sid(3,i)), now() from ${g}`,
 `insert into notifications select pg_temp.sid(6,i), ${o}, ${o}, 'payment:stripe:pi_'||i, 'payment.received', pg_temp.sid(1,i), '{}', now() from ${g}`,
 `insert into domain_events select pg_temp.sid(7,i), ${o}, 'payment.received', pg_temp.sid(3,i)::text, 'payment', pg_temp.sid(3,i), pg_temp.sid(1,i), '{}', now() from ${g}`,
 `insert into domain_events select pg_temp.sid(9,i), ${o}, 'invoice.paid', pg_temp.sid(8,i)::text||':1', 'invoice', pg_temp.sid(8,i), pg_temp.sid(1,i), '{}', now() from ${g}`,
 `insert into money_subjects select 'pi_'||i,'stripe',${o} from ${g}`,
 `insert into invoices (id, organization_id, lifecycle, series, sequence, number, currency, total_minor, paid_minor, settle_count, issued_at, created_at) select pg_temp.sid(8,i), ${o}, 'issued','invoice',i,'RE-'||i,'EUR',10000,10000,1,'2026-01-01','2026-01-01' from ${g}`,
 `insert into issued_documents select pg_temp.sid(8,i), ${o}, 'EUR', 10000, 'RE-'||i, i, 'invoice', '2026-01-01', '{}' from ${g}`,
 `insert into invoice_lines (invoice_id, organization_id, currency, position, description, quantity, unit_price_minor, tax_percent, net_minor) select pg_temp.sid(8,i), ${o}, 'EUR', 1, 'W', 1, 10000, 0, 10000 from ${g}`,
 `insert into number_series values ('invoice', ${o}, 'RE-', ${N}+1)`,
 `insert into webhook_endpoints values (${o}, ${o}, ${o}, 'stripe')`,
]) await c.query(s)
console.log('seeded', Math.round(performance.now()-t0))
for (const analysed of [false, true]) {
  if (analysed) await c.query('vacuum analyze')
  const doctor = await openDoctor(server.ownerUrl)
  let last = '', at = performance.now(); const t = performance.now()
  const slow: string[] = []
  const tell = (n: string) => { const d = performance.now()-at; if (last) { slow.push(`${last} ${Math.round(d)}`); if (d > 300) console.log(last, Math.round(d)) }; last = n; at = performance.now() }
  const f = await doctor.examine(org, (ch) => tell(ch.id)); tell('end')
  console.log(analysed, Math.round(performance.now()-t), f.map(x => x.check + ' ' + x.rows.length), "")
  await doctor.close()
}
await c.end(); await server.stop()
process.exit(0)
