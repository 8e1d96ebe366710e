export interface LineSplitter {
  push(chunk: Buffer): string[];
  rest(): string;
}

export class LineTooLongError extends Error {
  override name = 'LineTooLongError';
}

const newline = 0x0a;

/** Whole lines: a chunk may end inside a UTF-8 character. */
export function createLineSplitter(maxBytes: number): LineSplitter {
  let pieces: Buffer[] = [];
  let held = 0;

  function hold(piece: Buffer): void {
    held += piece.length;
    if (held > maxBytes) throw new LineTooLongError(`A line is longer than ${maxBytes} bytes.`);
    if (piece.length > 0) pieces.push(piece);
  }

  function release(): string {
    const line = (pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)).toString();
    pieces = [];
    held = 0;
    return line;
  }

  return {
    push: (chunk) => {
      const lines: string[] = [];
      let from = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
        hold(chunk.subarray(from, end));
        lines.push(release());
        from = end + 1;
      }
      hold(chunk.subarray(from));
      return lines;
    },
    rest: release,
  };
}
