import http from 'node:http'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { diagnose } from '../../src/doctor/index.ts'
import { createTestOffice, stripePaid, type TestOffice, type TestOrganization } from '../support/office.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'
let office: TestOffice
let org: TestOrganization
let pair: ServerPair
beforeAll(async () => {
  office = await createTestOffice()
  org = await office.addOrganization('Model', 1)
  pair = await startServerPair(office)
})
afterAll(async () => {
  await pair.stop()
  await office.close()
})
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
function post(url: string, headers: Record<string, string>, body: string): Promise<{ status: number; body: any }> {
  return new Promise((resolve, reject) => {
    const req = http.request(url, { method: 'POST', agent, headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) } }, (res) => {
      let text = ''
      res.setEncoding('utf8')
      res.on('data', (c) => { text += c })
      res.on('end', () => resolve({ status: res.statusCode ?? 0, body: JSON.parse(text) }))
    })
    req.on('error', reject)
    req.end(body)
  })
}
async function timed(name: string, n: number, width: number, work: (i: number) => Promise<unknown>) {
  const t = performance.now()
  const c = process.cpuUsage()
  let next = 0
  await Promise.all(Array.from({ length: width }, async () => { while (next < n) { const i = next++; await work(i) } }))
  const ms = performance.now() - t
  const cpu = process.cpuUsage(c)
  console.log(`${name}: ${n} in ${ms.toFixed(0)} ms, ${(ms / n).toFixed(2)} ms each; own cpu ${((cpu.user + cpu.system) / 1000 / n).toFixed(2)}`)
}

test('measure', async () => {
  const orgs: TestOrganization[] = [org]
  for (let i = 0; i < 19; i++) orgs.push(await office.addOrganization('M' + i, 1))
  const tables = `activities allocations credit_allocations deliveries delivery_bodies delivery_events domain_events events audit_entries invoice_adjustments invoice_lines invoices issued_documents money_subjects notifications number_series payment_mentions payment_returns payments review_items`.split(' ')
  const inv = new Map<string, string[]>()
  const issueAll = (o: TestOrganization) => async () => { const l = []; for (let k = 0; k < 3; k++) l.push((await o.issueInvoice({ amountMinor: 1000n, currency: 'EUR' })).id); inv.set(o.organizationId, l) }
  const webhook = (o: TestOrganization) => async (i: number) => {
    const body = stripePaid({ eventId: `evt_${randomUUID()}`, paymentId: `pi_${randomUUID()}`, amount: 300, invoice: inv.get(o.organizationId)![i % 3]! })
    const a = await post(`${pair.url(i)}${o.stripe.path}`, o.stripe.sign(body), body)
    expect(a.status).toBe(200)
  }
  const pay = (o: TestOrganization) => async (i: number) => {
    const a = await post(`${pair.url(i)}/api/v1/invoices/${inv.get(o.organizationId)![i % 3]}/pay`, { authorization: `Bearer ${o.apiKey}`, 'content-type': 'application/json', 'idempotency-key': randomUUID() }, JSON.stringify({ amount: { amountMinor: 100, currency: 'EUR' } }))
    expect(a.status).toBe(200)
  }
  const diag = (o: TestOrganization) => async () => { expect(await office.db.transaction(o.organizationId, (tx) => diagnose(tx, o.organizationId))).toEqual([]) }
  for (let gen = 0; gen < 6; gen++) {
    await timed(`issue`, 20, 4, (i) => issueAll(orgs[i]!)())
    await timed(`webhooks w4`, 80, 4, (i) => webhook(orgs[i % 20]!)(i))
    await timed(`pays w4`, 80, 4, (i) => pay(orgs[i % 20]!)(i))
    await timed(`diagnose w1`, 40, 1, (i) => diag(orgs[i % 20]!)())
    await timed(`diagnose w2`, 40, 2, (i) => diag(orgs[i % 20]!)())
    await timed(gen % 2 ? 'truncate' : 'delete', 1, 1, () => gen % 2 ? office.owner.query(`truncate ${tables.join(', ')}`) : office.owner.query(`begin; set local session_replication_role = replica; ${tables.map((n: string) => `delete from ${n}`).join('; ')}; commit`))
  }
}, 120_000)
