/* ldmatrix, stmatrix, movmatrix: lanes give the addresses of rows of 16 bytes, and share what stands there.
 *
 * b16: eight rows of eight elements a matrix; lane 4g + t has elements 2t and 2t + 1 of row g, with .trans of column g.
 * b8 (always .trans), as CuTe's SM100_U8x8_LDSM_T and SM100_U8x4_STSM_T copy: byte b of a lane's register comes from column
 * g + 8 (b / 2); of the 16 rows that ldmatrix.m16n16 reads, from row 4t + 2r + b % 2 (r: the matrix' register), of the 8
 * that stmatrix.m16n8 writes, to row 2t + b % 2. */
#include "mma.h"

/* Numbered as Layout in lower/matrix.py. */
enum layout { PLAIN, TRANSPOSED, BYTES };

static void rows_of(struct ptx_warp *warp, uint32_t number, uint32_t count, uint32_t what, const uint64_t *address,
                    char **row) {
    const uint32_t lanes = count >= PTX_LANES ? UINT32_MAX : (1u << count) - 1;
    ptx_places(warp, number, lanes, what, address, row);
    if (PTX_WHAT_SPACE(what) != PTX_GENERIC) return;
    const uint32_t size = ((const struct ptx_launch_head *)warp->launch)->shared_size;
    PTX_EACH_LANE(lane, lanes) if ((uint64_t)(row[lane] - (char *)warp->shared) >= size)
        ptx_fail(warp, number, PTX_ILLEGAL_ADDRESS, lane, address[lane],
                 "a matrix instruction reaches the block's shared memory only, and this address lies elsewhere");
}

/* Move one register of all lanes from or to eight rows: row g is lanes 4g to 4g + 3. */
static void move_rows(uint32_t *registers, char *const *row, int store) {
    for (uint32_t g = 0; g < 8; g++, registers += 4)
        memcpy(store ? row[g] : (char *)registers, store ? (char *)registers : row[g], 16);
}

static void move_columns(uint32_t *registers, char *const *row, int store) {
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        for (uint32_t i = 0; i < 2; i++) {
            char *memory = row[2 * (lane % 4) + i] + lane / 4 * 2, *own = (char *)(registers + lane) + 2 * i;
            memcpy(store ? memory : own, store ? own : memory, 2);
        }
}

static void move_bytes(uint32_t *registers, char *const *row, uint32_t step, int store) {
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        for (uint32_t b = 0; b < 4; b++) {
            char *memory = row[step * (lane % 4) + b % 2] + lane / 4 + 8 * (b / 2), *own = (char *)(registers + lane) + b;
            *(store ? memory : own) = *(store ? own : memory);
        }
}

/* `count` registers of every lane; a matrix of m16n16 fills two, and one of m16n8 is eight rows in memory. */
static void move(uint32_t *registers, char *const *row, uint32_t count, enum layout layout, int store) {
    for (uint32_t r = 0; r < count; r++, registers += PTX_LANES)
        if (layout == BYTES) move_bytes(registers, row + (store ? 8 * r : r / 2 * 16 + r % 2 * 2), store ? 2 : 4, store);
        else (layout == PLAIN ? move_rows : move_columns)(registers, row + 8 * r, store);
}

void ptx_ldmatrix(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t count, uint32_t layout,
                  const uint64_t *address, uint32_t *registers) {
    char *row[PTX_LANES];
    if (!mma_begins(warp, number, active)) return;
    rows_of(warp, number, 8 * count, what, address, row);
    move(registers, row, count, layout, 0);
}

void ptx_stmatrix(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t count, uint32_t layout,
                  const uint64_t *address, uint32_t *registers) {
    char *row[PTX_LANES];
    if (!mma_begins(warp, number, active)) return;
    rows_of(warp, number, 8 * count, what, address, row);
    move(registers, row, count, layout, 1);
}

/* The transpose of a matrix of b16. */
void ptx_movmatrix(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t *d, const uint32_t *a) {
    uint32_t from[PTX_LANES];
    char *row[8];
    if (!mma_begins(warp, number, active)) return;
    memcpy(from, a, sizeof from); /* row g is lanes 4g to 4g + 3 */
    for (uint32_t g = 0; g < 8; g++) row[g] = (char *)(from + 4 * g);
    move_columns(d, row, 0);
}
