import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  githubReaction,
  githubSignature,
  hmacSignature,
  slackReaction,
  slackSignature,
} from '../../src/contract/signatures.ts';

const delivery = (body: string | Buffer, headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers,
  body: Buffer.from(body),
});

/** From the documentation of GitHub, "Validating webhook deliveries". */
const github = {
  secret: "It's a Secret to Everybody",
  body: 'Hello, World!',
  signature: 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
};

/** From the documentation of Slack, "Verifying requests from Slack". */
const slack = {
  secret: '8f742231b10e8888abcd99yyyzzz85a5',
  timestamp: '1531420618',
  body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  signature: 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
};
const slackMs = Number(slack.timestamp) * 1000;

const garbage = ['', 'sha256=', 'v0=', 'ÿ', '=', 'a'.repeat(10_000), 'sha256=zz', '\u{1F980}', 'null'];

describe('signatures: only the holder of the secret can sign', () => {
  const verifyGithub = (headers: Record<string, string>, body: string | Buffer = github.body) =>
    githubSignature()(delivery(body, headers), github.secret, 0);
  const verifySlack = (
    { timestamp = slack.timestamp, signature = slack.signature, body = slack.body },
    nowMs = slackMs,
  ) => {
    const headers = { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature };
    return slackSignature()(delivery(body, headers), slack.secret, nowMs);
  };

  it("signatures: accepts GitHub's published example", () => {
    expect(verifyGithub({ 'x-hub-signature-256': github.signature })).toBe(true);
  });

  it("signatures: accepts Slack's published example within five minutes", () => {
    expect(verifySlack({})).toBe(true);
    for (const seconds of [-300, 300]) expect(verifySlack({}, slackMs + seconds * 1000)).toBe(true);
    for (const seconds of [-301, 301, 86_400]) expect(verifySlack({}, slackMs + seconds * 1000)).toBe(false);
  });

  it('signatures: rejects a body that differs in any one bit', () => {
    for (let at = 0; at < github.body.length; at++)
      for (let bit = 0; bit < 8; bit++) {
        const body = Buffer.from(github.body);
        body.writeUInt8(body.readUInt8(at) ^ (1 << bit), at);
        expect(verifyGithub({ 'x-hub-signature-256': github.signature }, body), `${at} ${bit}`).toBe(false);
      }
    expect(verifyGithub({ 'x-hub-signature-256': github.signature }, `${github.body}\n`)).toBe(false);
    expect(verifySlack({ body: `${slack.body} ` })).toBe(false);
  });

  it('signatures: rejects a missing, truncated, foreign or malformed signature', () => {
    const cut = [1, 10, 64, 70].map((length) => github.signature.slice(0, length));
    const others = [
      `${github.signature}0`,
      github.signature.toUpperCase(),
      github.signature.replace('sha256=', ''),
      github.signature.replace('sha256=', 'sha1='),
      github.signature.replace('7', '8'),
    ];
    expect(verifyGithub({})).toBe(false);
    expect(verifyGithub({ 'x-hub-signature': github.signature })).toBe(false);
    for (const signature of [...garbage, ...cut, ...others])
      expect(verifyGithub({ 'x-hub-signature-256': signature }), signature).toBe(false);
    for (const signature of garbage) expect(verifySlack({ signature }), signature).toBe(false);
  });

  it('signatures: rejects a malformed timestamp, or one that was not signed', () => {
    const times = ['', 'now', '1531420618.0', '+1531420618', ' 1531420618', '0x5b479e0a', '1531420619', '-1'];
    for (const timestamp of [...times, '9'.repeat(400), 'Infinity', 'NaN'])
      expect(verifySlack({ timestamp }), timestamp).toBe(false);
    const headers = { 'x-slack-signature': slack.signature };
    expect(slackSignature()(delivery(slack.body, headers), slack.secret, slackMs)).toBe(false);
  });

  it('signatures: rejects another or an empty secret', () => {
    const headers = { 'x-hub-signature-256': github.signature };
    for (const secret of ['', `${github.secret} `, github.secret.toLowerCase()])
      expect(githubSignature()(delivery(github.body, headers), secret, 0)).toBe(false);
    const empty = `sha256=${createHmac('sha256', '').update(github.body).digest('hex')}`;
    expect(githubSignature()(delivery(github.body, { 'x-hub-signature-256': empty }), '', 0)).toBe(false);
  });

  it.each([
    ['sha1', 'hex'],
    ['sha256', 'base64'],
    ['sha384', 'base64url'],
    ['sha512', 'hex'],
  ] as const)(
    'signatures: supports an HMAC of %s in %s, with a prefix and a timestamp',
    (algorithm, encoding) => {
      const verify = hmacSignature({
        header: 'X-Signature',
        algorithm,
        encoding,
        prefix: 't,',
        timestampHeader: 'X-Time',
        toleranceSeconds: 10,
        signed: (body, timestamp) => Buffer.concat([body, Buffer.from(`.${timestamp}`)]),
      });
      const digest = createHmac(algorithm, 'secret').update('body.1000').digest(encoding);
      const headers = { 'x-signature': `t,${digest}`, 'x-time': '1000' };
      expect(verify(delivery('body', headers), 'secret', 1_010_000)).toBe(true);
      expect(verify(delivery('body', headers), 'secret', 1_010_001)).toBe(false);
      expect(verify(delivery('body', { ...headers, 'x-time': '1001' }), 'secret', 1_000_000)).toBe(false);
      expect(verify(delivery('body', { ...headers, 'x-signature': digest }), 'secret', 1_000_000)).toBe(
        false,
      );
    },
  );

  it('signatures: inherited properties do not count as headers', () => {
    const verify = hmacSignature({ header: 'constructor' });
    expect(verify(delivery('body'), 'secret', 0)).toBe(false);
    expect(hmacSignature({ header: 'a', timestampHeader: 'toString' })(delivery('b'), 's', 0)).toBe(false);
  });
});

describe('reactions: responses that providers require', () => {
  it("reactions: answers Slack's challenge without a sync", () => {
    const body = JSON.stringify({ type: 'url_verification', challenge: '3eZbrw1a', token: 'x' });
    expect(slackReaction(delivery(body))).toEqual({ sync: false, reply: { challenge: '3eZbrw1a' } });
  });

  it('reactions: any other delivery from Slack is a hint', () => {
    for (const body of [
      '{"type":"event_callback"}',
      '',
      'null',
      '[]',
      '"url_verification"',
      'a=b',
      '{"type":"url_verification"}',
    ])
      expect(slackReaction(delivery(body)), body).toEqual({});
  });

  it("reactions: GitHub's ping is no hint; any other delivery is", () => {
    expect(githubReaction(delivery('{}', { 'x-github-event': 'ping' }))).toEqual({ sync: false });
    for (const event of ['push', 'issues', 'pings'])
      expect(githubReaction(delivery('{}', { 'x-github-event': event }))).toEqual({});
    expect(githubReaction(delivery('{}'))).toEqual({});
  });
});
