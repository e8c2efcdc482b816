/** The live stream: lines of JSON over fetch(), which unlike EventSource can bring a token. Comes back by itself. */
import { ask, Refused } from "./api.js";

const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 15000;
const SILENCE = 20000;

/**
 * Follow the stream for ever.
 * @param {(message: any) => void} take called with each line
 * @param {(problem: string) => void} lost called when it breaks off, with why; "" when it is there
 */
export async function follow(take, lost) {
  let pause = FIRST_PAUSE;
  for (;;) {
    try {
      await once(take, () => {
        pause = FIRST_PAUSE;
        lost("");
      });
      lost("The connection ended; trying again.");
    } catch (error) {
      lost(error instanceof Refused ? `${error.message}` : "loadaware does not answer; trying again.");
      if (error instanceof Refused && error.status === 404) return;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

async function once(take, began) {
  const ending = new AbortController();
  const response = await ask("live", { signal: ending.signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let silence = setTimeout(() => ending.abort(), SILENCE);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(() => ending.abort(), SILENCE);
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) take(JSON.parse(line));
      if (lines.length) began();
    }
  } finally {
    clearTimeout(silence);
  }
}
