import { AdminFrame } from '@/features/admin/AdminFrame';

/** What people may use, for administrators. */
export function LimitsPage() {
  return (
    <AdminFrame tab="Limits" title="Limits">
      {null}
    </AdminFrame>
  );
}
