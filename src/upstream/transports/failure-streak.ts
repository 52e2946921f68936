import { isTerminal } from './http-failure.ts';

export interface FailureStreak {
  count(error: Error & { readonly code?: string }): void;
  /** Something has succeeded. */
  end(): void;
}

const ENOUGH = 3;

/** Counts network failures in a row. After the third the line has to go, once whoever failed has been told. */
export function failureStreak(onEnough: (reason: string) => void): FailureStreak {
  let failures = 0;
  return {
    count(error) {
      if (!isTerminal(error) || ++failures < ENOUGH) return;
      setImmediate(onEnough, `${ENOUGH} network failures in a row (${error.code}).`);
    },
    end() {
      failures = 0;
    },
  };
}
