import com.informix.jdbc.IfxSqliConnect;
import com.informix.stream.api.IfmxStreamOperationRecord;
import com.informix.stream.cdc.IfxCDCRecordBuilder;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.sql.Connection;
import java.util.BitSet;
import java.util.List;
import sun.misc.Unsafe;

/**
 * Records as IBM's change stream client decodes them, without its connection to a server.
 *
 * Compiled by Janino, which Spark brings: no compiler need be installed.
 */
public class ChangeStreamClient {
    private IfxCDCRecordBuilder builder;
    private byte[][] records;

    /** Takes the record that describes the table, and records of one size from a file. */
    public void load(List schema, String path, int size) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        // The builder asks its connection only which features the server has.
        Object connection = ((Unsafe) field.get(null)).allocateInstance(IfxSqliConnect.class);
        Field features = IfxSqliConnect.class.getDeclaredField("dbVersion");
        features.setAccessible(true);
        BitSet every = new BitSet();
        every.set(0, 64);
        features.set(connection, every);
        this.builder = new IfxCDCRecordBuilder((Connection) connection);
        byte[] description = new byte[schema.size()];
        for (int i = 0; i < description.length; i++) {
            description[i] = ((Number) schema.get(i)).byteValue();
        }
        this.builder.buildRecord(description);
        byte[] all = Files.readAllBytes(Paths.get(path, new String[0]));
        this.records = new byte[all.length / size][size];
        for (int i = 0; i < this.records.length; i++) {
            System.arraycopy(all, i * size, this.records[i], 0, size);
        }
    }

    /** Decodes all records and says how many values they have. */
    public long decode() throws Exception {
        long values = 0;
        for (int i = 0; i < this.records.length; i++) {
            Object record = this.builder.buildRecord(this.records[i]);
            values += ((IfmxStreamOperationRecord) record).getData().size();
        }
        return values;
    }
}
