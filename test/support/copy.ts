import pg from 'pg';

/** Methods of pg.Connection that its types omit. */
interface CopyTarget {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** Sends `rows` to a COPY … FROM STDIN. */
export function copyFrom(session: pg.Client, text: string, rows: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = Object.assign(new pg.Query(text), {
      handleCopyInResponse: (connection: CopyTarget) => {
        connection.sendCopyFromChunk(Buffer.from(rows));
        connection.endCopyFrom();
      },
    });
    query.once('end', () => resolve());
    query.once('error', reject);
    session.query(query);
  });
}
