import { AdminFrame } from '@/features/admin/AdminFrame';

/** What was used, for administrators. */
export function UsagePage() {
  return (
    <AdminFrame tab="Usage" title="Usage">
      {null}
    </AdminFrame>
  );
}
