import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

/** A mail as it came over the wire. */
export interface ReceivedMail {
  readonly to: readonly string[]
  /** The headers, unfolded, each on a line of its own. */
  readonly headers: string
  readonly body: string
}

export interface MailServer {
  readonly url: string
  readonly received: ReceivedMail[]
  close(): Promise<void>
}

/** A mail server of one test, which takes everything, or refuses every recipient. */
export async function startMailServer(options: { refuses?: boolean } = {}): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onRcptTo(_address, _session, done) {
      done(options.refuses ? new Error('no such mailbox') : null)
    },
    onData(stream, { envelope }, done) {
      text(stream).then((message) => {
        const [head = '', ...rest] = message.split('\r\n\r\n')
        received.push({
          to: envelope.rcptTo.map(({ address }) => address),
          headers: head.replace(/\r\n[ \t]+/g, ' '),
          body: decode(head, rest.join('\r\n\r\n')),
        })
        done()
      }, done)
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

function decode(head: string, body: string): string {
  if (/content-transfer-encoding: base64/i.test(head)) return Buffer.from(body, 'base64').toString()
  if (!/content-transfer-encoding: quoted-printable/i.test(head)) return body
  const bytes = body.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_match, hex) => `\\x${hex}`)
  return Buffer.from(
    bytes.replace(/\\x([0-9A-F]{2})/g, (_match, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()
}
