type Payload = { grantId?: string; uid?: string; userCode?: string; consumed?: number };

/** Returns an adapter of oidc-provider that forgets nothing. The built-in one is shared and keeps 1,000 rows. */
export function mapAdapter() {
  const rows = new Map<string, Payload>();
  const byField = (field: 'uid' | 'userCode', value: string, model: string) =>
    [...rows].find(([key, row]) => key.startsWith(`${model}:`) && row[field] === value)?.[1];

  return (model: string) => ({
    upsert: async (id: string, payload: Payload) => void rows.set(`${model}:${id}`, payload),
    find: async (id: string) => rows.get(`${model}:${id}`),
    findByUid: async (uid: string) => byField('uid', uid, model),
    findByUserCode: async (code: string) => byField('userCode', code, model),
    destroy: async (id: string) => void rows.delete(`${model}:${id}`),
    consume: async (id: string) => {
      const row = rows.get(`${model}:${id}`);
      if (row) row.consumed = 1;
    },
    revokeByGrantId: async (grantId: string) => {
      for (const [key, row] of rows) if (row.grantId === grantId) rows.delete(key);
    },
  });
}
