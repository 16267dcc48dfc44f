/* SPDX-License-Identifier: Apache-2.0
 *
 * Who computed a product: for bwgemm-tune, which must not take cuBLAS's time for bwgemm's.
 */
#ifndef BWGEMM_DROPIN_LAST_H
#define BWGEMM_DROPIN_LAST_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* What became of the calling thread's last product: "served" if bwgemm computes it, otherwise the
 * outcome or the reason that the log has. Without a log, "slower" may stand for a reason that
 * depends on what the handle is set to. "" if no product came by since the last question. The text
 * lives for ever. Any thread may ask, at any time. */
const char* bwgemmCublasTakeLast(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_DROPIN_LAST_H */
